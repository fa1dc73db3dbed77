"""The body of a batch: all that is published of its blocks, before it is compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol.errors import NotPublishable
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.interop_roots import InteropRoot
from entresol.primitives.published import writer
from entresol.primitives.published.edits import EditsByHash, PublishedEdits
from entresol.primitives.published.limits import (
    MAX_BLOCK_GAS,
    MAX_BLOCK_ROOTS,
    MAX_BLOCKS,
    MAX_DECODED_BYTES,
    MAX_DEPOSITS,
    MAX_NUMBER,
    MAX_ROOTS,
    MAX_TRANSACTIONS,
)
from entresol.primitives.published.reader import Reader
from entresol.primitives.published.rules import BlockRules
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol.primitives.published.reader import Reader


# What an entry has, in the order in which it follows.
_RULES: Final = 0x01
_SETTINGS: Final = 0x02
_PRICES: Final = 0x04
_EDITS: Final = 0x08
_EDITS_BY_HASH: Final = 0x10
_ROOTS: Final = 0x20
_DEPOSITS: Final = 0x40
_TRANSACTIONS: Final = 0x80

# The settings of a block.
_GAS_LIMIT: Final = 0x01
_BENEFICIARY: Final = 0x02
_BASE_FEE: Final = 0x04
_PREVRANDAO: Final = 0x08
_ALL_SETTINGS: Final = _GAS_LIMIT | _BENEFICIARY | _BASE_FEE | _PREVRANDAO

_PRICE_BYTES: Final = 16
"""L1 keeps each of both numbers of a price of ether in 128 bits."""
_LEAST_ROOT: Final = 3 + Hash32.size
_LEAST_TRANSACTION: Final = 2
_LARGEST_NUMBER: Final = 10

MAX_ROOT_BYTES: Final = 3 * _LARGEST_NUMBER + Hash32.size
MAX_HEAD_BYTES: Final = (
    (1 + _LARGEST_NUMBER)  # flags, timestamp step
    + (1 + _LARGEST_NUMBER + Address.size + _LARGEST_NUMBER + Hash32.size)  # settings
    + (_LARGEST_NUMBER + 2 * (1 + _PRICE_BYTES))  # prices
    + (1 + 2 + 3)  # numbers of roots, deposits and transactions
)
"""The most that a block without edits and new rules takes beside its roots and transactions."""

_TYPED: Final = frozenset({1, 2, 4, ZK_TYPE})
_LEGACY: Final = range(0xC0, 0xFE)
"""How a legacy transaction begins; the types 0xfe and 0xff are L1's."""


class PublishedPrices(msgspec.Struct, frozen=True):
    """The prices from which the fee rule computes those of the L2."""

    l1_gas_price: int
    ether: EtherPrice = EtherPrice()

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read what `encode` writes."""
        return cls(
            reader.varint("l1_gas_price"),
            EtherPrice(_read_part(reader, "nominator"), _read_part(reader, "denominator")),
        )

    def encode(self) -> bytes:
        """Return the gas price of L1, then both numbers of the price of ether."""
        parts = (self.ether.nominator, self.ether.denominator)
        return writer.varint(self.l1_gas_price, "prices.l1_gas_price") + b"".join(
            writer.number(part, "prices.ether", highest_size=_PRICE_BYTES) for part in parts
        )


class PublishedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block as it is published; None is what follows from the rules."""

    timestamp_step: int
    """The seconds since the parent."""
    rules: BlockRules | None = None
    """New rules, from this block on."""
    gas_limit: int | None = None
    beneficiary: Address | None = None
    base_fee: int | None = None
    prevrandao: Hash32 | None = None
    prices: PublishedPrices | None = None
    """New prices, from this block on."""
    edits: PublishedEdits | EditsByHash | None = None
    roots: tuple[InteropRoot, ...] = ()
    """The roots that the system transaction of the block imports, oldest first."""
    deposits: int = 0
    """How many; their ids are consecutive."""
    transactions: tuple[bytes, ...] = ()
    """Raw transactions after the deposits."""

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing but its timestamp, so that it is part of a run."""
        return not _flags_of(self)

    @property
    def transaction_count(self) -> int:
        """How many transactions it has with deposits and the import of roots."""
        return bool(self.roots) + self.deposits + len(self.transactions)


class EmptyRun(msgspec.Struct, frozen=True):
    """Consecutive empty blocks, each so many seconds after the one before it."""

    timestamp_step: int
    count: int

    def encode(self) -> bytes:
        """Return no flags, the step, and how many."""
        return (
            b"\0"
            + writer.varint(self.timestamp_step, "timestamp_step")
            + writer.varint(self.count, "run", lowest=1, highest=MAX_BLOCKS)
        )

    def size(self) -> int:
        """Return how many bytes it takes."""
        return 1 + writer.varint_size(self.timestamp_step) + writer.varint_size(self.count)


def read_entry(reader: Reader, most: int) -> PublishedBlock | EmptyRun:
    """Read a block, or a run of at most so many."""
    flags = reader.byte("flags")
    step = reader.varint("timestamp_step")
    if not flags:
        return EmptyRun(step, reader.varint("run", lowest=1, highest=most))
    rules = _read_rules(reader) if flags & _RULES else None
    settings = _read_settings(reader) if flags & _SETTINGS else {}
    prices = _read_prices(reader) if flags & _PRICES else None
    return PublishedBlock(
        timestamp_step=step,
        rules=rules,
        prices=prices,
        edits=_read_edits(reader, flags),
        roots=tuple(_read_roots(reader)) if flags & _ROOTS else (),
        deposits=_read_deposits(reader) if flags & _DEPOSITS else 0,
        transactions=tuple(_read_transactions(reader)) if flags & _TRANSACTIONS else (),
        **settings,  # type: ignore[arg-type]
    )


def encode_block(block: PublishedBlock) -> bytes:
    """Return the entry of a block; an empty one is a run of one."""
    if block.is_empty:
        return EmptyRun(block.timestamp_step, 1).encode()
    parts = [_encode_head(block)]
    for raw in block.transactions:
        if not raw or not is_published_type(raw[0]):
            raise NotPublishable("transactions", f"one begins with 0x{raw[:1].hex()}")
        parts.append(writer.varint(len(raw), "transactions"))
        parts.append(raw)
    return b"".join(parts)


def block_size(block: PublishedBlock) -> int:
    """Return how many bytes the entry of a block takes; an empty one is a run of one."""
    if block.is_empty:
        return EmptyRun(block.timestamp_step, 1).size()
    return len(_encode_head(block)) + sum(map(transaction_size, map(len, block.transactions)))


def transaction_size(length: int) -> int:
    """Return how many bytes a raw transaction of this length takes in its block."""
    return writer.varint_size(length) + length


def is_published_type(first: int) -> bool:
    """Return whether a raw transaction that begins with this byte can be published: type 0, 1, 2, 4 or 0x71."""
    return first in _TYPED or first in _LEGACY


def _flags_of(block: PublishedBlock) -> int:
    flags = (block.rules is not None) * _RULES | bool(_settings_of(block)) * _SETTINGS
    flags |= (block.prices is not None) * _PRICES
    flags |= isinstance(block.edits, PublishedEdits) * _EDITS
    flags |= isinstance(block.edits, EditsByHash) * _EDITS_BY_HASH
    flags |= bool(block.roots) * _ROOTS | bool(block.deposits) * _DEPOSITS
    return flags | bool(block.transactions) * _TRANSACTIONS


def _settings_of(block: PublishedBlock) -> int:
    settings = (block.gas_limit is not None) * _GAS_LIMIT
    settings |= (block.beneficiary is not None) * _BENEFICIARY
    settings |= (block.base_fee is not None) * _BASE_FEE
    return settings | (block.prevrandao is not None) * _PREVRANDAO


def _encode_head(block: PublishedBlock) -> bytes:
    """Return the entry of a block up to its first transaction."""
    parts = [bytes((_flags_of(block),)), writer.varint(block.timestamp_step, "timestamp_step")]
    if block.rules is not None:
        parts.append(block.rules.encode())
    parts.append(_encode_settings(block))
    if block.prices is not None:
        parts.append(block.prices.encode())
    if block.edits is not None:
        parts.append(block.edits.encode())
    if block.roots:
        parts.append(writer.varint(len(block.roots), "roots", highest=MAX_BLOCK_ROOTS))
        parts += map(_encode_root, block.roots)
    if block.deposits:
        parts.append(writer.varint(block.deposits, "deposits", highest=MAX_DEPOSITS))
    if block.transactions:
        count = len(block.transactions)
        parts.append(writer.varint(count, "transactions", highest=MAX_TRANSACTIONS))
    return b"".join(parts)


def _encode_settings(block: PublishedBlock) -> bytes:
    settings = _settings_of(block)
    if not settings:
        return b""
    parts = [bytes((settings,))]
    if block.gas_limit is not None:
        parts.append(writer.varint(block.gas_limit, "gas_limit", highest=MAX_BLOCK_GAS))
    if block.beneficiary is not None:
        parts.append(writer.fixed(block.beneficiary, Address.size, "beneficiary"))
    if block.base_fee is not None:
        parts.append(writer.varint(block.base_fee, "base_fee"))
    if block.prevrandao is not None:
        parts.append(writer.fixed(block.prevrandao, Hash32.size, "prevrandao"))
    return b"".join(parts)


def _encode_root(root: InteropRoot) -> bytes:
    if len(root.sides) != 1:
        raise NotPublishable("roots", "a root has one side")
    numbers = (root.chain_id, root.block_number, root.timestamp)
    return b"".join(writer.varint(number, "roots") for number in numbers) + writer.fixed(
        root.root, Hash32.size, "roots"
    )


def _read_rules(reader: Reader) -> BlockRules:
    with reader.within("rules"):
        return BlockRules.read(reader)


def _read_prices(reader: Reader) -> PublishedPrices:
    with reader.within("prices"):
        return PublishedPrices.read(reader)


def _read_part(reader: Reader, field: str) -> int:
    begin, found = reader.offset, reader.word(field, highest_size=_PRICE_BYTES)
    if not found:
        raise reader.unreadable(field, "it is at least 1", offset=begin)
    return int.from_bytes(found)


def _read_settings(reader: Reader) -> dict[str, int | Address | Hash32]:
    begin, flags = reader.offset, reader.flags("settings", _ALL_SETTINGS)
    if not flags:
        raise reader.unreadable("settings", "at least one is set", offset=begin)
    found: dict[str, int | Address | Hash32] = {}
    if flags & _GAS_LIMIT:
        found["gas_limit"] = reader.varint("gas_limit", highest=MAX_BLOCK_GAS)
    if flags & _BENEFICIARY:
        found["beneficiary"] = reader.fixed(Address, "beneficiary")
    if flags & _BASE_FEE:
        found["base_fee"] = reader.varint("base_fee")
    if flags & _PREVRANDAO:
        found["prevrandao"] = reader.fixed(Hash32, "prevrandao")
    return found


def _read_edits(reader: Reader, flags: int) -> PublishedEdits | EditsByHash | None:
    if not flags & (_EDITS | _EDITS_BY_HASH):
        return None
    with reader.within("edits"):
        if not flags & _EDITS_BY_HASH:
            return PublishedEdits.read(reader)
        if flags & _EDITS:
            raise reader.unreadable("hash", "edits are published either whole or by hash")
        return EditsByHash.read(reader)


def _read_roots(reader: Reader) -> Iterator[InteropRoot]:
    for index in range(reader.count("roots", _LEAST_ROOT, highest=MAX_BLOCK_ROOTS)):
        field = f"roots[{index}]"
        numbers = reader.varint(field), reader.varint(field), reader.varint(field)
        yield InteropRoot.of(*numbers, reader.fixed(Hash32, field))


def _read_deposits(reader: Reader) -> int:
    return reader.varint("deposits", lowest=1, highest=MAX_DEPOSITS)


def _read_transactions(reader: Reader) -> Iterator[bytes]:
    count = reader.count("transactions", _LEAST_TRANSACTION, highest=MAX_TRANSACTIONS)
    for index in range(count):
        begin, raw = reader.offset, reader.string(f"transactions[{index}]", lowest=1)
        if not is_published_type(raw[0]):
            problem = f"one that begins with {raw[0]:#04x} is not published"
            raise reader.unreadable(f"transactions[{index}]", problem, offset=begin)
        yield raw


VERSION: Final = 1
MAX_FRAME_BYTES: Final = 1 + 2 * 8 + 2 * Hash32.size + 2 + Hash32.size
"""The most that a body has before and after its blocks."""


class BatchHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The beginning of a body: which batch it is, and on what it stands."""

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
    """The totals of the blocks of a batch, and the prices and rules of the last one."""

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
