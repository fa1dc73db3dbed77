"""Block range of `eth_getLogs` requests, adapted to the limits of the provider."""

from __future__ import annotations

import logging
import re
from typing import Final

from entresol.errors import LayerOneRejected

log = logging.getLogger(__name__)

MAX_RANGE: Final = 10_000
SUCCESSES_TO_GROW: Final = 8
"""How many requests must succeed in a row before a wider range is tried."""

# The request is well-formed, so invalid parameters mean that the range is too wide.
_LIMIT_CODES: Final = frozenset({-32602, -32614, -32047})
_LIMIT_WORDS: Final = re.compile(
    r"(?<!invalid block )\brange|\bblocks\b|\bresults?\b|\bsize\b|\btoo (large|big|wide|long)\b"
    r"|\b(query|request|execution) time(d )?-?out"
)


class LogRange:
    """The number of blocks that the provider is likely to accept in one request.

    Remembers: that number, and how many requests in a row succeeded with it. Limits may be of blocks or of results,
    so the number that is accepted differs along the chain.
    """

    def __init__(self) -> None:
        self.blocks = MAX_RANGE
        self._successes = 0

    def on_rejection(self, blocks: int, rejection: LayerOneRejected) -> None:
        """Halve a range that was too wide; raise any other rejection."""
        # A single block is within every limit.
        if blocks == 1 or not exceeds_range_limit(rejection.code, rejection.message):
            raise rejection
        self.blocks, self._successes = blocks // 2, 0
        log.info("requesting logs of %d blocks at a time: %s", self.blocks, rejection)

    def on_success(self, blocks: int) -> None:
        """Double the range after enough successes with the full one."""
        if blocks < self.blocks or self.blocks == MAX_RANGE:
            return
        self._successes += 1
        if self._successes == SUCCESSES_TO_GROW:
            self.blocks, self._successes = min(2 * self.blocks, MAX_RANGE), 0


def exceeds_range_limit(code: int, message: str) -> bool:
    """Return whether an error means that the range is too wide; every provider words it differently."""
    return code in _LIMIT_CODES or _LIMIT_WORDS.search(message.lower()) is not None
