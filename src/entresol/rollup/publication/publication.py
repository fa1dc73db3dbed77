"""The data that the batches of a chain publish: the genesis as batch 0, and the body of each other one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.chain.fees import fee_input
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ETHEREUM_TYPES, fee_constants_of
from entresol.errors import BatchOverflow, NotPublishable, StoreDamaged
from entresol.execution.block_rules import RecordRules, check_block, prevrandao_after
from entresol.primitives.published import writer
from entresol.primitives.published.body import (
    MAX_FRAME_BYTES,
    BatchHeader,
    BatchTally,
    EmptyRun,
    PublishedBatch,
    PublishedBlock,
    PublishedPrices,
    block_size,
    encode_body,
    run_after,
)
from entresol.primitives.published.compression import compress
from entresol.primitives.published.edits import EditsByHash, PublishedEdits
from entresol.primitives.published.genesis import PublishedAccount, PublishedGenesis
from entresol.primitives.published.limits import (
    MAX_BLOCKS,
    MAX_BODY_BYTES,
    MAX_PUBLISHED_BYTES,
    gas_limit_with_room,
)
from entresol.primitives.records import roots_of
from entresol.primitives.transactions import PriorityTransaction, load, may_be_unsigned
from entresol.primitives.transactions.priority import PRIORITY_TYPES
from entresol.primitives.transactions.system import SYSTEM_TYPE
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.batches import Batch
    from entresol.primitives.headers import Header
    from entresol.primitives.published.genesis import PublishedGenesis
    from entresol.primitives.published.rules import BlockRules
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.values import Address
    from entresol.storage.batch_table import BatchTable
    from entresol.storage.block_rows import Prices


def published_genesis(genesis: Genesis, rules: BlockRules) -> PublishedGenesis:
    """Return what is published of a genesis; raise `NotPublishable` for that of a fork, whose state is elsewhere."""
    if genesis.anchor is not None:
        raise NotPublishable("genesis.anchor", f"its state is that of {genesis.anchor}")
    if genesis.chain_id != rules.chain_id:
        problem = f"{rules.chain_id} expected, got {genesis.chain_id}"
        raise NotPublishable("genesis.chain_id", problem)
    return PublishedGenesis(
        rules=rules,
        number=genesis.number,
        timestamp=genesis.timestamp,
        gas_limit=genesis.gas_limit,
        base_fee=genesis.base_fee,
        beneficiary=genesis.beneficiary,
        extra_data=genesis.extra_data,
        difficulty=genesis.difficulty,
        mix_hash=genesis.mix_hash,
        nonce=genesis.nonce,
        accounts=tuple(
            _published(address, genesis.alloc[address]) for address in sorted(genesis.alloc)
        ),
    )


def genesis_of(published: PublishedGenesis) -> Genesis:
    """Return the genesis that was published."""
    return Genesis(
        chain_id=published.rules.chain_id,
        number=published.number,
        timestamp=published.timestamp,
        gas_limit=published.gas_limit,
        base_fee=published.base_fee,
        beneficiary=published.beneficiary,
        extra_data=published.extra_data,
        difficulty=published.difficulty,
        mix_hash=published.mix_hash,
        nonce=published.nonce,
        alloc={
            account.address: GenesisAccount(
                balance=account.balance,
                nonce=account.nonce,
                code=account.code,
                storage=dict(account.slots),
            )
            for account in published.accounts
        },
    )


def _published(address: Address, account: GenesisAccount) -> PublishedAccount:
    # A slot that is zero is not a slot.
    slots = tuple((slot, value) for slot, value in sorted(account.storage.items()) if any(value))
    return PublishedAccount(
        address=address,
        nonce=account.nonce,
        balance=account.balance,
        code=account.code,
        slots=slots,
    )


MAX_BLOCK_BYTES: Final = MAX_BODY_BYTES - MAX_FRAME_BYTES
"""The most that a block takes, because it is never divided."""

_DERIVABLE: Final = RecordRules(
    is_development=True, publishes=True, accepted_types=ETHEREUM_TYPES | {ZK_TYPE}
)
"""Blocks that others derive have constant fields, an order and types; what developers may do is judged elsewhere."""


class RulesInForce(msgspec.Struct, frozen=True, kw_only=True):
    """Rules and prices of the block before; without prices a block is the first of its batch."""

    rules: BlockRules
    prices: PublishedPrices | None = None


def published_block(
    record: BlockRecord, parent: Header, prices: Prices, rules: BlockRules, before: RulesInForce
) -> PublishedBlock:
    """Return what is published of a block.

    Raises `BlockRuleBroken` or `NotPublishable` for one that could not be derived from it. Edits that make it larger
    than a batch are published by hash.
    """
    header = record.header()
    check_block(record, parent, _DERIVABLE)
    found_prices = published_prices(prices)
    deposits, transactions = _transactions_of(record)
    block = PublishedBlock(
        timestamp_step=header.timestamp - parent.timestamp,
        rules=None if rules == before.rules else rules,
        prices=None if found_prices == before.prices else found_prices,
        edits=_edits_of(record),
        roots=tuple(roots_of(record)),
        deposits=deposits,
        transactions=transactions,
        **_differences(record, header, found_prices, rules),
    )
    if isinstance(block.edits, PublishedEdits) and block_size(block) > MAX_BLOCK_BYTES:
        return msgspec.structs.replace(block, edits=block.edits.by_hash())
    return block


def published_prices(prices: Prices) -> PublishedPrices:
    """Return the prices of a block from which the others follow."""
    return PublishedPrices(prices.l1_gas_price, prices.ether)


def base_fee_by_rule(rules: BlockRules, prices: PublishedPrices) -> int:
    """Return the base fee of a block by the fee rule."""
    return fee_input(fee_constants_of(rules), prices.l1_gas_price, prices.ether).base_fee


def gas_limit_by_rule(record: BlockRecord, rules: BlockRules) -> int:
    """Return the gas limit of a block by the rule: that of the chain, with room for what has to be first."""
    first = next((raw for raw, _ in record.transactions if raw[0] in PRIORITY_TYPES), None)
    payload = None if first is None else PriorityTransaction.decode(first)
    return gas_limit_with_room(rules.gas_limit, len(roots_of(record)), payload)


def _differences(
    record: BlockRecord, header: Header, prices: PublishedPrices, rules: BlockRules
) -> dict[str, Any]:
    """Return the fields of a header that do not follow from the rules."""
    by_rule = (
        ("gas_limit", header.gas_limit, gas_limit_by_rule(record, rules)),
        ("beneficiary", header.beneficiary, rules.beneficiary),
        ("base_fee", header.base_fee_per_gas, base_fee_by_rule(rules, prices)),
        ("prevrandao", header.mix_hash, prevrandao_after(header.parent_hash, header.number)),
    )
    return {name: value for name, value, expected in by_rule if value != expected}


def _edits_of(record: BlockRecord) -> PublishedEdits | None:
    return PublishedEdits.of(record.edits, record.codes) if record.edits else None


def _transactions_of(record: BlockRecord) -> tuple[int, tuple[bytes, ...]]:
    """Return how many deposits a block has, and the transactions after them."""
    raws = [raw for raw, _ in record.transactions]
    begin = 1 if raws and raws[0][0] == SYSTEM_TYPE else 0
    end = begin
    while end < len(raws) and raws[end][0] in PRIORITY_TYPES:
        end += 1
    for raw, sender in record.transactions[end:]:
        _check_sender(raw, sender)
    return end - begin, tuple(raws[end:])


def _check_sender(raw: bytes, sender: bytes) -> None:
    """Reject a transaction whose sender does not follow from its bytes."""
    if raw[0] == ZK_TYPE or not may_be_unsigned(raw):
        return
    payload: Any = load(raw, Address(sender)).payload
    if not payload.r and not payload.s:
        raise NotPublishable("transactions", "one has no signature, so nobody knows its sender")


class BodyBuilder:
    """The body of the open batch.

    Fails: with `NotPublishable` for a block that cannot follow those before it, which changes nothing.
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


class Publication:
    """Turns blocks of a chain into what is published of them.

    Assumes: a chain that publishes, whose store has rules and prices of every block.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._store = chain.ledger.store

    @classmethod
    def of(cls, chain: Chain) -> Publication | None:
        """Return that of a chain; None if it publishes nothing."""
        return cls(chain) if chain.rules.publishes else None

    def genesis(self) -> PublishedGenesis:
        """Return the genesis as it is published."""
        return published_genesis(self._chain.genesis, self.rules_at(self._chain.ledger.first))

    def open(self, last: Batch) -> OpenBody:
        """Return the body of the batch after `last`, without blocks."""
        parent = self._store.header(last.last_block)
        return OpenBody(self, last.number + 1, parent, last.hashed_from)

    def published(
        self, record: BlockRecord, parent: Header, before: RulesInForce
    ) -> PublishedBlock:
        """Return what is published of the block after `parent`."""
        number = parent.number + 1
        prices = self._store.prices.at(number)
        if prices is None:
            raise StoreDamaged(self._store.path, f"the prices of block {number} are missing")
        return published_block(record, parent, prices, self.rules_at(number), before)

    def rules_at(self, number: int) -> BlockRules:
        """Return the rules of a block."""
        rules = self._store.rules.at(number)
        if rules is None:
            raise StoreDamaged(self._store.path, f"the rules of block {number} are missing")
        return rules


def publication_report(batches: BatchTable) -> dict[str, str | None]:
    """Return what of a chain does not follow from L1: what is not there, and what was accepted all the same."""
    last = batches.last()
    accepted = "; ".join(map(str, batches.derivation.accepted()))
    return {
        "publication": None if last is None else missing_on_l1(last),
        "derivation": accepted or None,
    }


def missing_on_l1(last: Batch) -> str | None:
    """Return from which block on L1 is not enough to rebuild a chain, given its last batch; None if it is."""
    if not last.hashed_from:
        return None
    return (
        f"L1 is not enough from block {last.hashed_from} on: edits there are larger than a batch, so L1 has only their "
        "hash"
    )


class OpenBody:
    """The body of the open batch, made of records."""

    def __init__(
        self, publication: Publication, number: int, parent: Header, hashed_from: int = 0
    ) -> None:
        self.hashed_from = hashed_from
        """The first block of the chain whose edits are published by hash; 0 if there is none."""
        self._publication = publication
        self._last = parent
        self._rules = publication.rules_at(parent.number)
        self._builder = BodyBuilder(
            BatchHeader(
                number=number,
                first_block=parent.number + 1,
                parent_hash=parent.hash(),
                rules_hash=self._rules.hash(),
            )
        )
        self._asked: tuple[BlockRecord, PublishedBlock] | None = None

    @property
    def size(self) -> int:
        """How many bytes it has, before it is compressed."""
        return self._builder.size

    def has_room_for(self, record: BlockRecord) -> bool:
        """Return whether the next block fits; raises `BatchOverflow` if no batch could publish it."""
        has_room = self._builder.has_room_for(self._published(record))
        if not has_room and not self._builder.blocks:
            number = self._last.number + 1
            raise BatchOverflow(f"block {number} has more bytes than a batch can publish")
        return has_room

    def add(self, record: BlockRecord) -> None:
        """Add the next block."""
        block = self._published(record)
        self._builder.add(block)
        self._rules = block.rules or self._rules
        self._last = record.header()
        if isinstance(block.edits, EditsByHash) and not self.hashed_from:
            self.hashed_from = self._last.number
        self._asked = None

    def finish(self) -> bytes:
        """Return what is published: bytes that are the same only as long as the compressor is, so they are stored."""
        data = compress(self._builder.finish(Hash32(self._last.hash())))
        if len(data) > MAX_PUBLISHED_BYTES:
            raise BatchOverflow(
                f"a batch publishes {len(data)} bytes, and L1 takes {MAX_PUBLISHED_BYTES}"
            )
        return data

    def _published(self, record: BlockRecord) -> PublishedBlock:
        if self._asked is not None and self._asked[0] is record:
            return self._asked[1]
        before = RulesInForce(rules=self._rules, prices=self._builder.prices)
        try:
            block = self._publication.published(record, self._last, before)
        except NotPublishable as error:
            raise BatchOverflow(
                f"block {self._last.number + 1} cannot be published: {error}"
            ) from error
        self._asked = record, block
        return block
