"""The settings of a fork: where its remote is, which block it stands on, and how to ask."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol.primitives.values import Hash32

CACHE_VARIABLE: Final = "ENTRESOL_CACHE_DIR"
"""The variable with the directory of what this program caches, in place of the user's."""

DEFAULT_RETRIES: Final = 5
DEFAULT_TIMEOUT: Final = 45.0
DEFAULT_BACKOFF: Final = 1.0
DEFAULT_COMPUTE_UNITS: Final = 330
DEFAULT_BATCH_SIZE: Final = 100


class ForkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one fork; its URLs and headers are secrets, and its representation has neither."""

    urls: tuple[str, ...] = ()
    """Asked in turn; the first one at the start. None if `is_offline`."""
    is_named_by_client: bool = False
    """Whether `urls` is what a client named: errors repeat nothing of what such a host says."""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request, but only to the hosts of `urls`."""
    block_number: int | None = None
    """The anchor; a negative number counts back from the latest block. None is the latest block."""
    block_hash: Hash32 | None = None
    transaction_hash: Hash32 | None = None
    not_after: int | None = None
    """The anchor is the newest block that is not later than this Unix time, where nothing else names it."""
    chain_id: int | None = None
    """The chain id of the remote, which is then not asked for it."""
    retries: int = DEFAULT_RETRIES
    timeout: float = DEFAULT_TIMEOUT
    """Seconds that a read of the remote takes at most, with its retries."""
    backoff: float = DEFAULT_BACKOFF
    compute_units_per_second: int | None = DEFAULT_COMPUTE_UNITS
    """The most that requests may cost in a second; None is unlimited, as local addresses are."""
    batch_size: int = DEFAULT_BATCH_SIZE
    by_number: bool = False
    """Whether state is asked for by the number of its block, with its hash checked."""
    verify: bool = False
    is_offline: bool = False
    """Whether no request leaves the machine: the cache has all."""
    flag_prefix: str = "--"
    """How the flags of this fork begin, for errors: `--`, or `--l1-`."""

    def flag(self, name: str) -> str:
        """Return the flag of a setting, as errors name it."""
        return f"{self.flag_prefix}{name}"

    def __repr__(self) -> str:
        return f"<ForkSettings: {len(self.urls)} URLs, {len(self.headers)} headers>"
