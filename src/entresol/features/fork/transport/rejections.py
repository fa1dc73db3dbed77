"""The meaning of the errors of remotes: every provider words them differently."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import Final

_RATE_CODES: Final = frozenset({429, -32005, -32007, -32029, -32097})
_RATE_WORDS: Final = re.compile(
    r"rate.?limit|too many requests|exceeded its (throughput|compute)|compute units per second|requests per second"
    r"|capacity exceeded|throughput limit|request limit|quota|slow down|\bthrottl"
)
_NOT_RATE_WORDS: Final = re.compile(r"\blogs\b|block range|range limit|\bresults\b")
_SIZE_WORDS: Final = re.compile(
    r"too (large|big|long|many)|entity too large|\bbatch\b|exceeds? (the )?(limit|max)|maximum (size|number)"
)
_REVERTED: Final = 3
_INVALID_REQUEST: Final = -32600
_INVALID_PARAMS: Final = -32602
_INVALID_PARAMS_WORDS: Final = re.compile(
    r"invalid (argument|params|parameter|type)|unmarshal|deserializ"
)
_ARCHIVE_WORDS: Final = re.compile(
    r"missing trie node|state (is )?(not available|unavailable|pruned)|archive|pruned"
    r"|state .*(does not exist|not found)|historical state|old data not available|block (is )?too old"
    r"|distance to target block exceeds|state histories|no state available|stateat: state at block"
    r"|required historical state unavailable|proof window|state at block .* not"
)
_UNKNOWN_BLOCK_WORDS: Final = re.compile(
    r"header (for hash )?not found|unknown block|block .*not found|hash .*not found|no block|could not find block"
    r"|block .*does not exist|cannot find (block|header)|not (currently )?canonical"
)


def is_rate_limit(code: int, message: str) -> bool:
    """Return whether an error means that there were too many requests; not that there are too many logs."""
    text = message.lower()
    # A contract may revert with any reason.
    if code == _REVERTED or "execution reverted" in text or _NOT_RATE_WORDS.search(text):
        return False
    return code in _RATE_CODES or _RATE_WORDS.search(text) is not None


def is_too_large(code: int, message: str) -> bool:
    """Return whether an error to a batch means that it has too many members, or that there are no batches."""
    return code == _INVALID_REQUEST or _SIZE_WORDS.search(message.lower()) is not None


def is_invalid_params(code: int, message: str) -> bool:
    """Return whether the remote does not understand a parameter, as the name of a block."""
    return code == _INVALID_PARAMS or _INVALID_PARAMS_WORDS.search(message.lower()) is not None


def is_no_archive(message: str) -> bool:
    """Return whether the remote has no state of the block any more."""
    return _ARCHIVE_WORDS.search(message.lower()) is not None


def is_unknown_block(message: str) -> bool:
    """Return whether the remote does not know the block."""
    return _UNKNOWN_BLOCK_WORDS.search(message.lower()) is not None


def seconds_of(retry_after: str | None, now: float) -> float | None:
    """Return the seconds that a `Retry-After` means, or None if it means nothing."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII):
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
