"""What is published of blocks: enough to execute them again, and only what differs from the rules."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given

from entresol.errors import BlockRuleBroken, NotPublishable
from entresol.execution.block_executor import BlockExecutor, ParentBlock
from entresol.execution.block_rules import next_salt, prevrandao_after
from entresol.execution.evm_env import BlockEnv
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.headers import Header
from entresol.primitives.published.body import (
    PublishedBatch,
    PublishedBlock,
    PublishedPrices,
    decode_body,
    encode_body,
)
from entresol.primitives.published.compression import compress, decompress
from entresol.primitives.published.edits import EditsByHash, PublishedEdits
from entresol.primitives.published.limits import MAX_BODY_BYTES, gas_limit_with_room
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import (
    FeeMarketTransaction,
    PriorityTransaction,
    SystemTransaction,
    Transaction,
    decode,
    load,
    sign,
    unsigned,
)
from entresol.primitives.values import Address
from entresol.rollup.publication.publication import (
    MAX_BLOCK_BYTES,
    BodyBuilder,
    RulesInForce,
    base_fee_by_rule,
    published_block,
)
from entresol.storage.block_rows import Prices
from tests.support.chain.dev_chain import deposit
from tests.support.published.chain import EDITED, STRANGER, PublishingChain
from tests.support.published.values import DEVELOPMENT_RULES, EVERYTHING, batches

PRICES = Prices(10**9, 17 * 10**9)
IN_FORCE = RulesInForce(rules=DEVELOPMENT_RULES, prices=PublishedPrices(10**9))


@pytest.fixture(scope="module")
def everything() -> Iterator[PublishingChain]:
    chain = PublishingChain()
    chain.seal_everything()
    yield chain
    chain.close()


def test_a_chain_with_everything_is_read_as_it_was_published(everything: PublishingChain) -> None:
    last = everything.chain.number
    batch = decode_body(decompress(compress(everything.body(1, last))))
    assert list(batch.blocks) == everything.blocks(1, last)
    assert batch.last_hash == everything.chain.ledger.head_hash


def test_it_has_everything_that_can_be_published(everything: PublishingChain) -> None:
    blocks = everything.blocks(1, everything.chain.number)
    # Legacy ones begin with a list.
    types = {0 if raw[0] >= 0xC0 else raw[0] for block in blocks for raw in block.transactions}
    assert types == {0, 1, 2, 4, 0x71}
    names = {name for block in blocks for name, value in _fields(block) if value}
    assert names == set(PublishedBlock.__struct_fields__) - {"rules"}
    assert any(block.is_empty for block in blocks)


def test_every_block_follows_from_what_is_published(everything: PublishingChain) -> None:
    last = everything.chain.number
    prices: PublishedPrices | None = None
    for number, block in enumerate(decode_body(everything.body(1, last)).blocks, start=1):
        prices = block.prices or prices
        assert prices is not None
        assert derived(everything, number, block, prices) == everything.chain.ledger.header(number)


def test_only_what_differs_from_the_rules_is_published(everything: PublishingChain) -> None:
    *_, changed, last = everything.blocks(1, everything.chain.number)
    assert (changed.gas_limit, changed.beneficiary, changed.base_fee) == (40_000_000, EDITED, 7)
    assert changed.prevrandao == b"\x07" * 32
    # Base fee and PREVRANDAO were those of one block; gas limit and beneficiary stay.
    assert (last.gas_limit, last.beneficiary) == (40_000_000, EDITED)
    assert last.base_fee is None
    assert last.prevrandao is None
    for block in everything.blocks(1, 5):
        settings = (block.gas_limit, block.beneficiary, block.base_fee, block.prevrandao)
        assert settings == (None,) * 4


def test_prices_are_published_with_the_first_block_and_when_they_change(
    everything: PublishingChain,
) -> None:
    last = everything.chain.number
    assert [block.prices for block in everything.blocks(5, last)] == [
        PublishedPrices(10**9), *[None] * 7, PublishedPrices(3 * 10**9), None,
    ]  # fmt: skip


def test_rules_are_published_with_the_first_block_of_theirs(everything: PublishingChain) -> None:
    other = msgspec.structs.replace(DEVELOPMENT_RULES, gas_limit=29_000_000)
    block = published_block(*_sealed(everything, 6), PRICES, other, IN_FORCE)
    assert block.rules == other
    assert block.gas_limit == 30_000_000


def test_a_price_of_ether_decides_the_base_fee(everything: PublishingChain) -> None:
    prices = PRICES._replace(ether=EtherPrice(3_000, 1))
    block = published_block(*_sealed(everything, 6), prices, DEVELOPMENT_RULES, IN_FORCE)
    assert block.prices == PublishedPrices(10**9, EtherPrice(3_000, 1))
    assert block.base_fee == 100_000_000
    assert base_fee_by_rule(DEVELOPMENT_RULES, block.prices) == 3_000 * 100_000_000


def test_edits_that_no_batch_can_hold_are_published_by_hash() -> None:
    chain = PublishingChain()
    try:
        code = b"\x00" + bytes(range(1, 256)) * (MAX_BLOCK_BYTES // 255)
        chain.chain.edit(EDITED, lambda state: state.set_code(EDITED, code))
        block = chain.blocks(number := chain.seal(), number)[0]
        record = chain.chain.ledger.record(number)
    finally:
        chain.close()
    assert isinstance(block.edits, EditsByHash)
    assert block.edits == PublishedEdits(record.edits, (code,)).by_hash()


def test_a_header_that_no_rule_gives_cannot_be_published(everything: PublishingChain) -> None:
    record, parent = _sealed(everything, 6)
    header = msgspec.structs.replace(record.header(), extra_data=b"hi")
    other = BlockRecord(header.encode(), (), (), (), ())
    with pytest.raises(BlockRuleBroken, match="extra_data"):
        published_block(other, parent, PRICES, DEVELOPMENT_RULES, IN_FORCE)


def test_a_transaction_whose_sender_nobody_knows_cannot_be_published(
    everything: PublishingChain,
) -> None:
    payload = FeeMarketTransaction(
        chain_id=270, nonce=0, max_priority_fee_per_gas=0, max_fee_per_gas=1, gas_limit=21_000, to=EDITED
    )  # fmt: skip
    with pytest.raises(NotPublishable, match="no signature"):
        _publish(everything, unsigned(payload, STRANGER))


def test_a_deposit_after_other_transactions_cannot_be_published(
    everything: PublishingChain,
) -> None:
    payload = FeeMarketTransaction(
        chain_id=270, nonce=0, max_priority_fee_per_gas=0, max_fee_per_gas=1, gas_limit=21_000, to=EDITED
    )  # fmt: skip
    first, second = sign(payload, b"\x01" * 32), Transaction.from_l1(deposit(0))
    with pytest.raises(BlockRuleBroken, match="is a deposit, after one that is not"):
        _publish(everything, first, second)
    assert _publish(everything, second, first).deposits == 1


def derived(
    chain: PublishingChain, number: int, block: PublishedBlock, prices: PublishedPrices
) -> Header:
    """Execute a block from what is published, its deposits and its parent."""
    ledger, rules = chain.chain.ledger, DEVELOPMENT_RULES
    parent, record = ledger.header(number - 1), ledger.record(number)
    begin = 1 if block.roots else 0
    found = record.transactions[begin : begin + block.deposits]
    deposits = [PriorityTransaction.decode(raw) for raw, _ in found]
    by_rule = gas_limit_with_room(
        rules.gas_limit, len(block.roots), deposits[0] if deposits else None
    )
    base_fee = base_fee_by_rule(rules, prices) if block.base_fee is None else block.base_fee
    env = BlockEnv(
        number=number,
        timestamp=parent.timestamp + block.timestamp_step,
        gas_limit=block.gas_limit or by_rule,
        base_fee=base_fee,
        beneficiary=block.beneficiary or rules.beneficiary,
        prevrandao=block.prevrandao or prevrandao_after(parent.hash(), number),
    )
    executor = BlockExecutor(
        ledger.rules.evm_rules(),
        ledger.state_after(number - 1),
        env,
        ParentBlock(parent.hash(), parent.state_root),
    )
    if isinstance(block.edits, PublishedEdits):
        executor.edit(block.edits.changes, block.edits.codes)
    executor.begin()
    if block.roots:
        system = SystemTransaction.root_import(block.roots, next_salt(executor.overlay))
        executor.run(Transaction.of_system(system))
    for payload in deposits:
        executor.run(Transaction.from_l1(payload))
    for raw in block.transactions:
        executor.run(_sent(raw))
    return executor.finish(ledger.trie).header


def _sent(raw: bytes) -> Transaction:
    """Return a transaction with the sender that has signed it, or who is impersonated."""
    marked = load(raw, Address.zero())
    if not marked.is_impersonated:
        return decode(raw)
    assert isinstance(marked.payload, FeeMarketTransaction)
    return load(raw, Address(marked.payload.s.to_bytes(32)[12:]))


def _sealed(chain: PublishingChain, number: int) -> tuple[BlockRecord, Header]:
    return chain.chain.ledger.record(number), chain.chain.ledger.header(number - 1)


def _publish(chain: PublishingChain, *transactions: Transaction) -> PublishedBlock:
    record, parent = _sealed(chain, 6)
    with_them = msgspec.structs.replace(
        record,
        transactions=tuple(
            (transaction.raw, bytes(transaction.sender)) for transaction in transactions
        ),
    )
    return published_block(with_them, parent, PRICES, DEVELOPMENT_RULES, IN_FORCE)


def _fields(block: PublishedBlock) -> list[tuple[str, object]]:
    return list(msgspec.structs.asdict(block).items())


EMPTY = PublishedBlock(timestamp_step=1)
FIRST = EVERYTHING.blocks[0]


@given(batches())
def test_the_size_is_exact_after_each_block(batch: PublishedBatch) -> None:
    builder = BodyBuilder(batch.header)
    for count, block in enumerate(batch.blocks, start=1):
        expected = builder.size_with(block)
        builder.add(block)
        assert builder.size == expected
        body = builder.finish(batch.last_hash)
        assert len(body) == expected
        assert decode_body(body).blocks == batch.blocks[:count]


def test_a_body_is_that_of_the_codec() -> None:
    builder = BodyBuilder(EVERYTHING.header)
    for block in EVERYTHING.blocks:
        builder.add(block)
    assert builder.finish(EVERYTHING.last_hash) == encode_body(EVERYTHING)
    assert builder.prices == EVERYTHING.blocks[-2].prices


def test_a_run_of_empty_blocks_grows_by_nothing_but_its_count() -> None:
    builder = BodyBuilder(EVERYTHING.header)
    builder.add(FIRST)
    before = builder.size
    builder.add(EMPTY)
    assert builder.size == before + 3
    for _ in range(126):
        builder.add(EMPTY)
    # The number of blocks and the count of the run need a second byte each at 128.
    assert builder.blocks == 128
    assert builder.size == before + 3 + 1
    builder.add(EMPTY)
    assert builder.size == before + 3 + 2


def test_a_body_has_room_for_so_many_blocks_and_bytes() -> None:
    builder = BodyBuilder(EVERYTHING.header)
    builder.add(FIRST)
    left = MAX_BODY_BYTES - builder.size
    # Flags, step, count and length take six bytes.
    fits, larger = (
        PublishedBlock(timestamp_step=1, transactions=(b"\x02" + bytes(left - 7 + more),))
        for more in (0, 1)
    )
    assert builder.has_room_for(fits)
    assert not builder.has_room_for(larger)
    for _ in range(1_023):
        assert builder.has_room_for(EMPTY)
        builder.add(EMPTY)
    assert not builder.has_room_for(EMPTY)


def test_a_block_that_cannot_follow_changes_nothing() -> None:
    builder = BodyBuilder(EVERYTHING.header)
    with pytest.raises(NotPublishable, match="prices"):
        builder.add(EMPTY)
    builder.add(FIRST)
    before = builder.size
    with pytest.raises(NotPublishable, match="deposits: a batch has"):
        builder.add(msgspec.structs.replace(EMPTY, deposits=1_023))
    assert builder.size == before
    assert decode_body(builder.finish(EVERYTHING.last_hash)).blocks == (FIRST,)
