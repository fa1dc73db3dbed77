"""A chain as its users see it: transactions in, blocks out, and back again."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from entresol._native import Account, keccak256
from entresol.chain.chain import Chain
from entresol.chain.events import BlockSealed, TransactionPending
from entresol.chain.finality import BlockTag
from entresol.chain.logs import find_logs
from entresol.errors import InsufficientFunds, NonceTooLow, StoreFull, UnknownBlock
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.values import Hash32
from entresol.sequencer.inline import InlineSequencer
from entresol.storage.log_index import LogQuery
from tests.support.chain.dev_chain import (
    ALICE,
    CAROL,
    ETHER,
    FEE,
    LOGGER,
    NOBODY,
    balance,
    deposit,
    open_chain,
    transaction,
)


def test_a_transaction_is_sealed_as_it_comes(chain: Chain) -> None:
    sent = InlineSequencer(chain).submit(transaction(0, wei=5).raw)
    assert chain.number == 1
    assert chain.blocks.locate_transaction(sent) == (1, 0)
    assert balance(chain, NOBODY) == 5


def test_a_transaction_whose_block_cannot_be_written_is_not_in_the_pool(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_executed: object) -> None:
        raise StoreFull(chain.blocks.path)

    with monkeypatch.context() as patched:
        patched.setattr(chain.ledger, "append", fail)
        with pytest.raises(StoreFull):
            InlineSequencer(chain).submit(transaction(0, wei=5).raw)
    assert (chain.number, len(chain.pool)) == (0, 0)
    InlineSequencer(chain).submit(transaction(0, wei=5).raw)
    assert (chain.number, balance(chain, NOBODY)) == (1, 5)


def test_a_manual_chain_seals_all_pending_transactions_in_one_block(manual: Chain) -> None:
    for nonce in range(3):
        InlineSequencer(manual).submit(transaction(nonce).raw)
    assert manual.number == 0
    assert manual.seal().gas_used == 3 * 21_000
    assert len(manual.blocks.record(1).transactions) == 3


def test_a_transaction_behind_a_gap_is_queued_until_the_gap_is_filled(chain: Chain) -> None:
    InlineSequencer(chain).submit(transaction(1).raw)
    assert chain.number == 0
    InlineSequencer(chain).submit(transaction(0).raw)
    assert len(chain.blocks.record(1).transactions) == 2


def test_the_better_tip_goes_first(manual: Chain) -> None:
    low = InlineSequencer(manual).submit(transaction(0, by=0, tip=1).raw)
    high = InlineSequencer(manual).submit(transaction(0, by=1, tip=2).raw)
    manual.seal()
    locations = [manual.blocks.locate_transaction(sent) for sent in (high, low)]
    assert locations == [(1, 0), (1, 1)]


def test_a_rejected_transaction_changes_nothing(chain: Chain) -> None:
    InlineSequencer(chain).submit(transaction(0).raw)
    with pytest.raises(NonceTooLow):
        InlineSequencer(chain).submit(transaction(0, wei=2).raw)
    with pytest.raises(InsufficientFunds):
        InlineSequencer(chain).submit(transaction(1, wei=1_000 * ETHER).raw)
    assert chain.number == 1


def test_blocks_are_a_second_apart_when_the_clock_stops(chain: Chain) -> None:
    times = [chain.seal().timestamp for _ in range(3)]
    assert times == [1_000, 1_001, 1_002]


def test_an_empty_block_can_be_sealed(chain: Chain) -> None:
    header = chain.seal()
    assert (header.number, header.gas_used) == (1, 0)
    assert header.state_root == chain.blocks.header(0).state_root


def test_priority_transactions_come_before_all_others(manual: Chain) -> None:
    InlineSequencer(manual).submit(transaction(0, tip=10).raw)
    first = manual.enqueue(deposit(0))
    second = manual.enqueue(deposit(1))
    manual.seal()
    locations = [manual.blocks.locate_transaction(sent) for sent in (first, second)]
    assert locations == [(1, 0), (1, 1)]
    assert not manual.producer.priority


def test_a_deposit_credits_its_target_and_refunds_the_rest(manual: Chain) -> None:
    sent = manual.enqueue(deposit(0, wei=3 * ETHER))
    manual.seal()
    assert balance(manual, NOBODY) == 3 * ETHER
    assert balance(manual, CAROL) == 100 * ETHER + (100_000 - 21_000) * FEE
    (message,) = manual.blocks.record(1).results[0].l2_to_l1_logs
    assert L2ToL1Log.unpack(message) == L2ToL1Log.of_status(0, sent, succeeded=True)


@pytest.mark.parametrize("gas_limit", [30_000_001, 72_000_000])
def test_the_gas_limit_of_a_block_covers_a_priority_transaction(
    manual: Chain, gas_limit: int
) -> None:
    # It mints less than it pays, so it cannot start, and uses all of its gas.
    manual.enqueue(replace(deposit(0, gas_limit=gas_limit), to_mint=0))
    manual.enqueue(deposit(1))
    header = manual.seal()
    assert header.gas_used == header.gas_limit == gas_limit
    assert manual.seal().gas_limit == manual.rules.gas_limit
    manual.verify()


def test_an_absurd_gas_limit_of_a_priority_transaction_does_not_halt_the_chain(
    manual: Chain,
) -> None:
    manual.enqueue(replace(deposit(0), gas_limit=2**256 - 1))
    manual.seal()
    assert not manual.producer.priority


@pytest.mark.parametrize("gas_limit", [90_000_000, 2**63 - 1, 2**64, 2**256 - 1])
def test_a_priority_transaction_with_more_gas_than_any_l1_accepts_fails_within_a_bound(
    manual: Chain, gas_limit: int
) -> None:
    # It loops until its gas is used up, and L1 says that all of it is paid for.
    manual.edit(NOBODY, lambda overlay: overlay.set_code(NOBODY, bytes.fromhex("5b5f56")))
    endless = replace(deposit(0), to=NOBODY, gas_limit=gas_limit, max_fee_per_gas=0)
    sent = manual.enqueue(endless)
    manual.enqueue(deposit(1))
    header = manual.seal()
    assert header.gas_used == header.gas_limit < 81_000_000
    (failed,) = manual.blocks.record(1).results
    assert not failed.succeeded
    status = L2ToL1Log.of_status(0, sent, succeeded=False)
    assert L2ToL1Log.unpack(failed.l2_to_l1_logs[0]) == status
    assert manual.seal().gas_limit == manual.rules.gas_limit
    assert not manual.producer.priority
    manual.verify()


def test_a_deposit_too_poor_in_gas_is_in_the_block_all_the_same(manual: Chain) -> None:
    manual.enqueue(deposit(0, wei=ETHER, gas_limit=20_000))
    InlineSequencer(manual).submit(transaction(0).raw)
    manual.seal()
    failed, other = manual.blocks.record(1).results
    assert (failed.succeeded, failed.gas_used, other.succeeded) == (False, 20_000, True)
    assert balance(manual, CAROL) == 101 * ETHER


def test_the_pending_block_is_what_would_be_sealed(manual: Chain) -> None:
    InlineSequencer(manual).submit(transaction(0, wei=9).raw)
    pending = manual.pending()
    assert pending.env.number == 1
    assert [it.hash for it in pending.transactions] == [transaction(0, wei=9).hash]
    assert pending.overlay.account(NOBODY) == Account(0, 9, keccak256(b""))
    assert balance(manual, NOBODY) == 0


def test_a_block_includes_no_more_than_its_gas_limit(manual: Chain) -> None:
    for nonce in range(400):
        InlineSequencer(manual).submit(transaction(nonce, by=nonce % 3 and 0).raw)
    first = manual.seal()
    assert first.gas_used <= manual.rules.gas_limit
    manual.seal_pending()
    assert sum(len(r.transactions) for r in manual.blocks.records()) == 400


def test_logs_are_found_by_address_and_topic(chain: Chain) -> None:
    for nonce, data in enumerate((b"one", b"two", b"three")):
        InlineSequencer(chain).submit(transaction(nonce, to=LOGGER, wei=0, data=data).raw)
    InlineSequencer(chain).submit(transaction(0, by=1, to=LOGGER, wei=0, data=b"bob's").raw)
    topic = Hash32(bytes(12) + ALICE)
    query = LogQuery(addresses=frozenset({LOGGER}), topics=(frozenset({topic}),))
    found = list(find_logs(chain.blocks, query, 0, chain.number))
    assert [(log.data, log.block_number) for log in found] == [
        (b"one", 1),
        (b"two", 2),
        (b"three", 3),
    ]
    newest = next(find_logs(chain.blocks, query, 0, chain.number, newest_first=True))
    assert newest.data == b"three"
    assert newest.transaction_hash == transaction(2, to=LOGGER, wei=0, data=b"three").hash


def test_events_tell_of_transactions_and_blocks(chain: Chain) -> None:
    subscription = chain.events.subscribe()
    InlineSequencer(chain).submit(transaction(0).raw)
    (pending, sealed), lost = subscription.take()
    assert isinstance(pending, TransactionPending)
    assert pending.transaction.hash == transaction(0).hash
    assert isinstance(sealed, BlockSealed)
    assert (sealed.hash, lost) == (chain.head.hash(), 0)


def test_transactions_of_rewound_blocks_are_pending_again(manual: Chain) -> None:
    first = manual.enqueue(deposit(0))
    InlineSequencer(manual).submit(transaction(0).raw)
    manual.seal()
    InlineSequencer(manual).submit(transaction(1).raw)
    manual.seal()
    manual.rewind(0)
    assert manual.number == 0
    manual.seal()
    assert manual.blocks.locate_transaction(first) == (1, 0)
    assert len(manual.blocks.record(1).transactions) == 3


def test_safe_and_finalized_start_at_genesis_and_are_moved(chain: Chain) -> None:
    for nonce in range(3):
        InlineSequencer(chain).submit(transaction(nonce).raw)
    assert (chain.resolve(BlockTag.SAFE), chain.resolve(BlockTag.FINALIZED)) == (0, 0)
    chain.set_finality(safe=2)
    chain.set_finality(finalized=1)
    assert (chain.resolve(BlockTag.L1_COMMITTED), chain.resolve(BlockTag.FAST_FINALIZED)) == (2, 1)


def test_a_block_to_come_has_no_state(chain: Chain) -> None:
    with pytest.raises(UnknownBlock):
        chain.state_after(1)


def test_a_chain_survives_being_closed(tmp_path: Path) -> None:
    chain = open_chain(tmp_path)
    InlineSequencer(chain).submit(transaction(0, wei=5).raw)
    head = chain.head
    chain.close()
    again = open_chain(tmp_path)
    assert again.head == head
    assert balance(again, NOBODY) == 5
    InlineSequencer(again).submit(transaction(1, wei=5).raw)
    assert balance(again, NOBODY) == 10
    again.close()


def test_a_chain_follows_another_by_its_records(chain: Chain) -> None:
    for nonce in range(4):
        InlineSequencer(chain).submit(transaction(nonce).raw)
    follower = open_chain()
    follower.schedule.seal_on_request()
    InlineSequencer(follower).submit(transaction(0).raw)
    for record in list(chain.blocks.records())[1:]:
        follower.import_block(record)
    assert follower.head == chain.head
    assert follower.pool.get(transaction(0).hash) is None
    follower.close()


def test_a_block_is_due_at_its_interval(chain: Chain) -> None:
    chain.schedule.seal_every(1.0, now=0.0)
    InlineSequencer(chain).submit(transaction(0).raw)
    assert not chain.is_due(0.9)
    assert chain.is_due(1.0)
    header = chain.seal()
    assert (header.number, header.gas_used) == (1, 21_000)
