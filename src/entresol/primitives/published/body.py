"""The body of a batch: all that is published of its blocks, before it is compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol.errors import NotPublishable
from entresol.primitives.published import writer
from entresol.primitives.published.block import (
    EmptyRun,
    PublishedBlock,
    PublishedPrices,
    encode_block,
    read_entry,
)
from entresol.primitives.published.limits import (
    MAX_BLOCKS,
    MAX_DECODED_BYTES,
    MAX_DEPOSITS,
    MAX_NUMBER,
    MAX_ROOTS,
    MAX_TRANSACTIONS,
)
from entresol.primitives.published.reader import Reader
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VERSION: Final = 1
MAX_FRAME_BYTES: Final = 1 + 2 * 8 + 2 * Hash32.size + 2 + Hash32.size
"""What a body has before and after its blocks, at most."""


class BatchHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a body begins with: which batch it is, and on what it stands."""

    number: int
    first_block: int
    parent_hash: Hash32
    """The hash of the block before the first one."""
    rules_hash: Hash32
    """The hash of the rules of that block."""

    def encode(self) -> bytes:
        """Return version, numbers and hashes."""
        return b"".join(
            (
                bytes((VERSION,)),
                writer.varint(self.number, "number", lowest=1, highest=MAX_NUMBER),
                writer.varint(self.first_block, "first_block", lowest=1, highest=MAX_NUMBER),
                writer.fixed(self.parent_hash, Hash32.size, "parent_hash"),
                writer.fixed(self.rules_hash, Hash32.size, "rules_hash"),
            )
        )


class PublishedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch as it is published."""

    header: BatchHeader
    blocks: tuple[PublishedBlock, ...]
    """From the first one on; those of a run are one object."""
    last_hash: Hash32
    """The hash of the last block."""


class BatchTally(msgspec.Struct, frozen=True, kw_only=True):
    """What the blocks of a batch add up to, and the prices and rules of the last one."""

    rules_hash: Hash32
    prices: PublishedPrices | None = None
    blocks: int = 0
    deposits: int = 0
    roots: int = 0
    transactions: int = 0

    def plus(self, block: PublishedBlock) -> Self:
        """Return the tally with one more block; raise `NotPublishable` if it cannot follow those before it."""
        return msgspec.structs.replace(
            self,
            rules_hash=self._rules_after(block),
            prices=self._prices_after(block),
            blocks=self.blocks + 1,
            deposits=_sum("deposits", self.deposits, block.deposits, MAX_DEPOSITS),
            roots=_sum("roots", self.roots, len(block.roots), MAX_ROOTS),
            transactions=_sum(
                "transactions", self.transactions, block.transaction_count, MAX_TRANSACTIONS
            ),
        )

    def plus_run(self, run: EmptyRun) -> Self:
        """Return the tally with a run of empty blocks."""
        _check_priced(self.prices)
        return msgspec.structs.replace(self, blocks=self.blocks + run.count)

    def _prices_after(self, block: PublishedBlock) -> PublishedPrices:
        if block.prices is None:
            return _check_priced(self.prices)
        if block.prices == self.prices:
            raise NotPublishable("prices", "they are those of the block before")
        return block.prices

    def _rules_after(self, block: PublishedBlock) -> Hash32:
        if block.rules is None:
            return self.rules_hash
        found = block.rules.hash()
        if found == self.rules_hash:
            raise NotPublishable("rules", "they are those of the block before")
        return found


def encode_body(batch: PublishedBatch) -> bytes:
    """Return the only encoding of a batch; raise `NotPublishable` for one that cannot be published."""
    tally = BatchTally(rules_hash=batch.header.rules_hash)
    for index, block in enumerate(batch.blocks):
        try:
            tally = tally.plus(block)
        except NotPublishable as error:
            raise NotPublishable(f"blocks[{index}].{error.field}", error.problem) from None
    body = b"".join(
        (
            batch.header.encode(),
            writer.varint(len(batch.blocks), "blocks", lowest=1, highest=MAX_BLOCKS),
            *(
                entry.encode() if isinstance(entry, EmptyRun) else encode_block(entry)
                for entry in entries(batch.blocks)
            ),
            writer.fixed(batch.last_hash, Hash32.size, "last_hash"),
        )
    )
    if len(body) > MAX_DECODED_BYTES:
        raise NotPublishable("body", f"{len(body)} bytes, at most {MAX_DECODED_BYTES} are read")
    return body


def decode_body(body: bytes) -> PublishedBatch:
    """Decode what `encode_body` writes; reject anything else with `UnreadableData`."""
    reader = Reader(body, "body")
    if len(body) > MAX_DECODED_BYTES:
        raise reader.unreadable("size", f"{len(body)} bytes, at most {MAX_DECODED_BYTES} are read")
    reader.version(VERSION)
    header = BatchHeader(
        number=reader.varint("number", lowest=1, highest=MAX_NUMBER),
        first_block=reader.varint("first_block", lowest=1, highest=MAX_NUMBER),
        parent_hash=reader.fixed(Hash32, "parent_hash"),
        rules_hash=reader.fixed(Hash32, "rules_hash"),
    )
    blocks = tuple(_read_blocks(reader, header.rules_hash))
    last_hash = reader.fixed(Hash32, "last_hash")
    reader.end()
    return PublishedBatch(header=header, blocks=blocks, last_hash=last_hash)


def entries(blocks: Iterable[PublishedBlock]) -> Iterator[PublishedBlock | EmptyRun]:
    """Yield blocks as a body has them: empty ones as runs, each as long as it can be."""
    run: EmptyRun | None = None
    for block in blocks:
        longer = run_after(run, block)
        if run is not None and (longer is None or longer.count == 1):
            yield run
        if longer is None:
            yield block
        run = longer
    if run is not None:
        yield run


def run_after(run: EmptyRun | None, block: PublishedBlock) -> EmptyRun | None:
    """Return the run that a block continues or begins; None if the block is not empty."""
    if not block.is_empty:
        return None
    step = block.timestamp_step
    return EmptyRun(step, run.count + 1 if run is not None and run.timestamp_step == step else 1)


def _read_blocks(reader: Reader, rules_hash: Hash32) -> Iterator[PublishedBlock]:
    # A run takes three bytes whatever its length, so the number of blocks is not compared with what is left.
    count = reader.varint("blocks", lowest=1, highest=MAX_BLOCKS)
    tally, last = BatchTally(rules_hash=rules_hash), None
    while tally.blocks < count:
        begin = reader.offset
        with reader.within(f"blocks[{tally.blocks}]"):
            entry = read_entry(reader, count - tally.blocks)
            if _continues(entry, last):
                raise reader.unreadable("run", "it continues the run before it", offset=begin)
            try:
                tally = _plus(tally, entry)
            except NotPublishable as error:
                raise reader.unreadable(error.field, error.problem, offset=begin) from None
        yield from _expanded(entry)
        last = entry


def _continues(entry: PublishedBlock | EmptyRun, last: PublishedBlock | EmptyRun | None) -> bool:
    """Return whether two runs could be one."""
    return (
        isinstance(entry, EmptyRun)
        and isinstance(last, EmptyRun)
        and entry.timestamp_step == last.timestamp_step
    )


def _plus(tally: BatchTally, entry: PublishedBlock | EmptyRun) -> BatchTally:
    return tally.plus_run(entry) if isinstance(entry, EmptyRun) else tally.plus(entry)


def _sum(field: str, before: int, added: int, highest: int) -> int:
    if before + added > highest:
        raise NotPublishable(field, f"a batch has {highest} at most")
    return before + added


def _check_priced(prices: PublishedPrices | None) -> PublishedPrices:
    if prices is None:
        raise NotPublishable("prices", "the first block of a batch has them")
    return prices


def _expanded(entry: PublishedBlock | EmptyRun) -> tuple[PublishedBlock, ...]:
    if isinstance(entry, EmptyRun):
        return (PublishedBlock(timestamp_step=entry.timestamp_step),) * entry.count
    return (entry,)
