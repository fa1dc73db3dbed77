"""What is published of blocks: enough to execute them again, and only what differs from the rules."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given

from entresol.chain.edits import BlockSettings
from entresol.chain.genesis.stored_genesis import genesis_block
from entresol.errors import BlockRuleBroken, NotPublishable
from entresol.primitives.anchor import Anchor
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.headers import Header
from entresol.primitives.published.body import (
    PublishedBatch,
    PublishedBlock,
    PublishedPrices,
    decode_body,
)
from entresol.primitives.published.genesis import read_genesis_data
from entresol.primitives.published.limits import MAX_BODY_BYTES
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import Transaction, sign, unsigned
from entresol.primitives.values import Hash32
from entresol.rollup.publication.publication import (
    BodyBuilder,
    RulesInForce,
    base_fee_by_rule,
    genesis_of,
    published_block,
    published_genesis,
)
from entresol.state.state_trie import StateTrie
from entresol.storage.block_rows import Prices
from entresol.storage.store import Store
from tests.support.chain.dev_chain import deposit, fee_market
from tests.support.derivation.operated_chain import OperatedChain, publishing_genesis
from tests.support.derivation.traffic import EDITED, STRANGER
from tests.support.known import known
from tests.support.published.values import DEVELOPMENT_RULES, EVERYTHING, batches

PRICES = Prices(10**9, 17 * 10**9)
IN_FORCE = RulesInForce(rules=DEVELOPMENT_RULES, prices=PublishedPrices(10**9))


@pytest.fixture(scope="module")
def operator() -> Iterator[OperatedChain]:
    """Return a chain with a plain block, one of other settings, and one at another price."""
    found = OperatedChain()
    found.seal()
    salt = Hash32(b"\x07" * 32)
    found.chain.configure(
        BlockSettings(gas_limit=40_000_000, beneficiary=EDITED, base_fee=7, prevrandao=salt)
    )
    found.seal()
    found.seal()
    found.fees.observe(3 * 10**9)
    found.seal()
    found.seal()
    yield found
    found.close()


def blocks(operator: OperatedChain) -> list[PublishedBlock]:
    """Return what is published of its blocks in one batch."""
    found, before = list[PublishedBlock](), RulesInForce(rules=DEVELOPMENT_RULES)
    for number in range(1, operator.chain.number + 1):
        prices = known(operator.chain.prices.at(number))
        sealed = _sealed(operator, number)
        found.append(published_block(*sealed, prices, DEVELOPMENT_RULES, before))
        before = msgspec.structs.replace(before, prices=found[-1].prices or before.prices)
    return found


def test_only_what_differs_from_the_rules_is_published(operator: OperatedChain) -> None:
    plain, changed, last, *_ = blocks(operator)
    assert (plain.gas_limit, plain.beneficiary, plain.base_fee, plain.prevrandao) == (None,) * 4
    assert (changed.gas_limit, changed.beneficiary, changed.base_fee) == (40_000_000, EDITED, 7)
    assert changed.prevrandao == b"\x07" * 32
    # Base fee and PREVRANDAO were those of one block; gas limit and beneficiary stay.
    assert (last.gas_limit, last.beneficiary) == (40_000_000, EDITED)
    assert (last.base_fee, last.prevrandao) == (None, None)


def test_prices_are_published_with_the_first_block_and_when_they_change(
    operator: OperatedChain,
) -> None:
    prices = [block.prices for block in blocks(operator)]
    assert prices == [PublishedPrices(10**9), None, None, PublishedPrices(3 * 10**9), None]


def test_rules_are_published_with_the_first_block_of_theirs(operator: OperatedChain) -> None:
    other = msgspec.structs.replace(DEVELOPMENT_RULES, gas_limit=29_000_000)
    block = published_block(*_sealed(operator, 1), PRICES, other, IN_FORCE)
    assert block.rules == other
    assert block.gas_limit == 30_000_000


def test_a_price_of_ether_decides_the_base_fee(operator: OperatedChain) -> None:
    prices = PRICES._replace(ether=EtherPrice(3_000, 1))
    block = published_block(*_sealed(operator, 1), prices, DEVELOPMENT_RULES, IN_FORCE)
    assert block.prices == PublishedPrices(10**9, EtherPrice(3_000, 1))
    assert block.base_fee == 100_000_000
    assert base_fee_by_rule(DEVELOPMENT_RULES, block.prices) == 3_000 * 100_000_000


def test_a_header_that_no_rule_gives_cannot_be_published(operator: OperatedChain) -> None:
    record, parent = _sealed(operator, 1)
    header = msgspec.structs.replace(record.header(), extra_data=b"hi")
    other = BlockRecord(header.encode(), (), (), (), ())
    with pytest.raises(BlockRuleBroken, match="extra_data"):
        published_block(other, parent, PRICES, DEVELOPMENT_RULES, IN_FORCE)


def test_a_transaction_whose_sender_nobody_knows_cannot_be_published(
    operator: OperatedChain,
) -> None:
    payload = fee_market(0, EDITED, fee=1)
    with pytest.raises(NotPublishable, match="no signature"):
        _publish(operator, unsigned(payload, STRANGER))


def test_a_deposit_after_other_transactions_cannot_be_published(operator: OperatedChain) -> None:
    payload = fee_market(0, EDITED, fee=1)
    first, second = sign(payload, b"\x01" * 32), Transaction.from_l1(deposit(0))
    with pytest.raises(BlockRuleBroken, match="is a deposit, after one that is not"):
        _publish(operator, first, second)
    assert _publish(operator, second, first).deposits == 1


def _sealed(chain: OperatedChain, number: int) -> tuple[BlockRecord, Header]:
    return chain.chain.ledger.record(number), chain.chain.ledger.header(number - 1)


def _publish(chain: OperatedChain, *transactions: Transaction) -> PublishedBlock:
    record, parent = _sealed(chain, 1)
    with_them = msgspec.structs.replace(
        record,
        transactions=tuple(
            (transaction.raw, bytes(transaction.sender)) for transaction in transactions
        ),
    )
    return published_block(with_them, parent, PRICES, DEVELOPMENT_RULES, IN_FORCE)


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


def test_the_same_block_comes_of_a_published_genesis(store: Store) -> None:
    genesis = publishing_genesis()
    published = published_genesis(genesis, DEVELOPMENT_RULES)
    data = known(published.publish())
    found = genesis_of(read_genesis_data([data], published.hash()))
    trie = StateTrie(store)
    assert genesis_block(found, store, trie)[0] == genesis_block(genesis, store, trie)[0]
    assert published_genesis(found, DEVELOPMENT_RULES) == published


def test_a_slot_that_is_zero_is_not_published() -> None:
    genesis = publishing_genesis()
    address, account = next(iter(genesis.alloc.items()))
    zero = msgspec.structs.replace(account, storage={Hash32.zero(): Hash32.zero()})
    other = msgspec.structs.replace(genesis, alloc={**genesis.alloc, address: zero})
    found = published_genesis(other, DEVELOPMENT_RULES)
    assert found.hash() == published_genesis(genesis, DEVELOPMENT_RULES).hash()


def test_a_fork_cannot_be_published() -> None:
    anchor = Anchor.of_json(1, b'{"number":"0x5","hash":"0x' + b"11" * 32 + b'"}')
    forked = msgspec.structs.replace(publishing_genesis(), anchor=anchor)
    with pytest.raises(NotPublishable, match=r"genesis\.anchor: its state is that of block 5"):
        published_genesis(forked, DEVELOPMENT_RULES)


def test_a_genesis_has_the_chain_id_of_its_rules() -> None:
    with pytest.raises(NotPublishable, match=r"genesis\.chain_id: 271 expected, got 270"):
        published_genesis(
            publishing_genesis(), msgspec.structs.replace(DEVELOPMENT_RULES, chain_id=271)
        )
