"""How many blocks an L1 is asked for at a time when logs are searched: fewer if it rejects, then more again."""

from __future__ import annotations

import logging
import re
from typing import Final

from entresol.errors import LayerOneRejected

log = logging.getLogger(__name__)

MAX_RANGE: Final = 10_000
SUCCESSES_TO_GROW: Final = 8
"""So many answers in a row it takes until a wider range is tried again."""

# A search is well-formed, so who calls its parameters wrong means that they ask for too much.
_CODES: Final = frozenset({-32602, -32614, -32047})
_WORDS: Final = re.compile(
    r"(?<!invalid block )\brange|\bblocks\b|\bresults?\b|\bsize\b|\btoo (large|big|wide|long)\b"
    r"|\b(query|request|execution) time(d )?-?out"
)


class LogRange:
    """The width of a search that is likely to be answered.

    Remembers: the width, and how often it was answered. Limits may be of blocks or of results, so that what is
    too much in one place of a chain is little in another.
    """

    def __init__(self) -> None:
        self.blocks = MAX_RANGE
        self._answered = 0

    def rejected(self, blocks: int, rejection: LayerOneRejected) -> None:
        """Halve a range that was rejected; if that cannot help, raise the rejection."""
        # A single block is within all limits.
        if blocks == 1 or not exceeds_range_limit(rejection.code, rejection.message):
            raise rejection
        self.blocks, self._answered = blocks // 2, 0
        log.info("asking L1 for %d blocks at a time: %s", self.blocks, rejection)

    def answered(self, blocks: int) -> None:
        """Double the range, once one as wide was answered often enough."""
        if blocks < self.blocks or self.blocks == MAX_RANGE:
            return
        self._answered += 1
        if self._answered == SUCCESSES_TO_GROW:
            self.blocks, self._answered = min(2 * self.blocks, MAX_RANGE), 0


def exceeds_range_limit(code: int, message: str) -> bool:
    """Say whether a search was rejected for asking too much; there are as many words for it as providers."""
    return code in _CODES or _WORDS.search(message.lower()) is not None
