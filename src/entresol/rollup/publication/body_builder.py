"""Build the body of a batch block by block, and know how long it is at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.primitives.published import writer
from entresol.primitives.published.block import EmptyRun, PublishedBlock, block_size
from entresol.primitives.published.body import (
    BatchHeader,
    BatchTally,
    PublishedBatch,
    encode_body,
    run_after,
)
from entresol.primitives.published.limits import MAX_BLOCKS, MAX_BODY_BYTES
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol.primitives.published.block import PublishedPrices


class BodyBuilder:
    """The body of the open batch.

    Remembers: its blocks, what they add up to, and how many bytes they take. Persists: nothing; it is built again from
    records. Fails: with `NotPublishable` for a block that cannot follow those before it, which changes nothing.
    """

    def __init__(self, header: BatchHeader) -> None:
        self._header = header
        self._around = len(header.encode()) + Hash32.size
        self._tally = BatchTally(rules_hash=header.rules_hash)
        self._blocks: list[PublishedBlock] = []
        self._run: EmptyRun | None = None
        """The run that the last blocks are, if they are empty."""
        self._entries = 0

    @property
    def blocks(self) -> int:
        """How many blocks it has."""
        return len(self._blocks)

    @property
    def prices(self) -> PublishedPrices | None:
        """The prices of its last block; None without any."""
        return self._tally.prices

    @property
    def size(self) -> int:
        """How many bytes the body takes if it is finished now."""
        return self._around + writer.varint_size(self.blocks) + self._entries

    def size_with(self, block: PublishedBlock) -> int:
        """Return how many bytes the body takes with one more block."""
        count = writer.varint_size(self.blocks + 1)
        return self._around + count + self._entries + self._added_by(block)

    def has_room_for(self, block: PublishedBlock) -> bool:
        """Return whether one more block fits."""
        return self.blocks < MAX_BLOCKS and self.size_with(block) <= MAX_BODY_BYTES

    def add(self, block: PublishedBlock) -> None:
        """Add the next block."""
        self._tally = self._tally.plus(block)
        self._entries += self._added_by(block)
        self._run = run_after(self._run, block)
        self._blocks.append(block)

    def finish(self, last_hash: Hash32) -> bytes:
        """Return the body, given the hash of its last block."""
        blocks = tuple(self._blocks)
        body = encode_body(PublishedBatch(header=self._header, blocks=blocks, last_hash=last_hash))
        assert len(body) == self.size
        return body

    def _added_by(self, block: PublishedBlock) -> int:
        """Return how many bytes an entry takes, or how much longer the run of the last blocks becomes."""
        run = run_after(self._run, block)
        if run is None:
            return block_size(block)
        if run.count > 1 and self._run is not None:
            return run.size() - self._run.size()
        return run.size()
