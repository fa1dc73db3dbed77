"""What the pool holds, in which order it gives it, and when it lets it go."""

from __future__ import annotations

import pytest

from entresol import errors
from entresol.chain.mempool import Mempool, PoolConfig, PoolUpdated, TransactionDropped
from entresol.chain.mempool.senders import memory_of
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Address
from tests.support.chain.mempool_accounts import ANN, BASE_FEE, BEN, CAT, RULES, Accounts, transfer


def pool_of(
    *transactions: Transaction, config: PoolConfig | None = None, accounts: Accounts | None = None
) -> Mempool:
    """Return a pool with these transactions."""
    pool = Mempool(RULES, (accounts or Accounts()).state, base_fee=BASE_FEE, config=config)
    for transaction in transactions:
        pool.add(transaction)
    return pool


# --- Pending and queued --------------------------------------------------------


def test_a_transaction_behind_a_gap_is_promoted_when_the_gap_is_filled() -> None:
    first, second, third = (transfer(nonce=nonce) for nonce in range(3))
    pool = pool_of(first)
    assert not pool.add(third).is_pending
    assert pool.queued() == {ANN: {2: third}}
    added = pool.add(second)
    assert (added.is_pending, added.promoted) == (True, (second.hash, third.hash))
    assert pool.pending() == {ANN: {0: first, 1: second, 2: third}}
    assert pool.queued() == {}


def test_the_next_nonce_follows_what_is_pending() -> None:
    accounts = Accounts(nonces={ANN: 7, BEN: 3})
    pool = pool_of(*(transfer(nonce=nonce) for nonce in (7, 8, 10)), accounts=accounts)
    assert (pool.next_nonce(ANN), pool.next_nonce(BEN)) == (9, 3)


def test_transactions_are_found_by_hash_and_by_nonce() -> None:
    first, later = transfer(), transfer(nonce=5)
    pool = pool_of(first, later)
    assert (pool.get(first.hash), pool.find(ANN, 5)) == (first, later)
    assert (pool.get(bytes(32)), pool.find(ANN, 1), pool.find(BEN, 0)) == (None, None, None)
    assert (first.hash in pool, bytes(32) in pool) == (True, False)
    assert (pool.is_pending(first.hash), pool.is_pending(later.hash)) == (True, False)


def test_contents_can_be_had_of_one_sender() -> None:
    mine, other = transfer(), transfer(BEN, nonce=1)
    pool = pool_of(mine, other)
    assert (pool.pending(ANN), pool.queued(ANN)) == ({ANN: {0: mine}}, {})
    assert (pool.pending(BEN), pool.queued(BEN)) == ({}, {BEN: {1: other}})
    assert pool.pending(CAT) == {}
    assert pool.counts() == (1, 1)


def test_a_pool_is_listed_in_the_order_of_arrival() -> None:
    transactions = [transfer(BEN), transfer(nonce=4), transfer(nonce=0), transfer(CAT)]
    assert list(pool_of(*transactions)) == transactions


def test_the_same_transaction_is_known_already() -> None:
    transaction = transfer()
    with pytest.raises(errors.AlreadyKnown, match=r"^already known$"):
        pool_of(transaction).add(transaction)


# --- Replacement ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("fee_cap", "tip", "is_taken"),
    [
        (1_100, 110, True),
        (1_099, 110, False),
        (1_100, 109, False),
        (2_000, 100, False),
    ],
)
def test_a_replacement_offers_ten_percent_more_of_both(
    fee_cap: int, tip: int, is_taken: bool
) -> None:
    old, new = transfer(fee_cap=1_000, tip=100), transfer(fee_cap=fee_cap, tip=tip)
    pool = pool_of(old)
    if is_taken:
        added = pool.add(new)
        assert (added.replaced, added.promoted) == (old.hash, (new.hash,))
        assert list(pool) == [new]
    else:
        with pytest.raises(errors.PoolRejection, match=r"^replacement transaction underpriced"):
            pool.add(new)
        assert list(pool) == [old]


def test_ten_percent_are_rounded_down_but_never_nothing() -> None:
    assert pool_of(transfer(tip=15)).add(transfer(tip=16, fee_cap=1_100)).replaced is not None
    with pytest.raises(errors.PoolRejection, match="replacement transaction underpriced:"):
        pool_of(transfer(tip=5)).add(transfer(tip=5, fee_cap=1_100))


def test_no_tip_may_be_replaced_by_no_tip() -> None:
    assert pool_of(transfer(tip=0)).add(transfer(tip=0, fee_cap=1_100)).replaced is not None


def test_a_queued_transaction_is_replaced_in_the_queue() -> None:
    pool = pool_of(transfer(nonce=3))
    added = pool.add(transfer(nonce=3, fee_cap=1_100, tip=2))
    assert (added.is_pending, added.promoted) == (False, ())
    assert pool.counts() == (0, 1)


# --- Order ---------------------------------------------------------------------


def test_the_best_tip_goes_first_and_equals_go_by_arrival() -> None:
    low, high, also_high = transfer(ANN, tip=1), transfer(BEN, tip=9), transfer(CAT, tip=9)
    assert list(pool_of(low, high, also_high).best()) == [high, also_high, low]


def test_a_tip_counts_only_as_far_as_the_fee_cap_reaches() -> None:
    boastful = transfer(ANN, tip=50, fee_cap=BASE_FEE + 2)
    modest = transfer(BEN, tip=3)
    assert list(pool_of(boastful, modest).best()) == [modest, boastful]


def test_the_nonces_of_a_sender_stay_in_order_whatever_they_offer() -> None:
    cheap, dear, between = transfer(tip=1), transfer(nonce=1, tip=9), transfer(BEN, tip=5)
    assert list(pool_of(cheap, dear, between).best()) == [between, cheap, dear]


def test_first_come_first_served_if_so_configured() -> None:
    transactions = [transfer(ANN, tip=1), transfer(BEN, tip=9), transfer(ANN, nonce=1, tip=99)]
    pool = pool_of(*transactions, config=PoolConfig(order="fifo"))
    assert list(pool.best()) == transactions


def test_a_changed_base_fee_changes_the_order() -> None:
    capped, open_ended = transfer(ANN, tip=50, fee_cap=150), transfer(BEN, tip=40)
    pool = pool_of(capped, open_ended)
    assert list(pool.best()) == [capped, open_ended]
    pool.base_fee = 120
    assert list(pool.best()) == [open_ended, capped]


def test_what_does_not_pay_the_base_fee_holds_back_its_sender_only() -> None:
    first, poor, after = transfer(), transfer(nonce=1, fee_cap=150), transfer(nonce=2)
    other = transfer(BEN)
    pool = pool_of(first, poor, after, other)
    pool.base_fee = 200
    assert list(pool.best()) == [first, other]
    assert pool.counts() == (4, 0)


def test_a_skipped_sender_yields_nothing_more_in_this_block() -> None:
    first, second, other = transfer(tip=9), transfer(nonce=1, tip=9), transfer(BEN)
    pool = pool_of(first, second, other)
    best = pool.best()
    assert next(best) is first
    best.skip_sender(ANN)
    assert list(best) == [other]
    assert list(pool.best()) == [first, second, other]


def test_a_removed_transaction_holds_back_its_successors_only() -> None:
    first, second, other = transfer(tip=9), transfer(nonce=1, tip=9), transfer(BEN)
    pool = pool_of(first, second, other)
    best = pool.best()
    assert pool.remove(next(best).hash, "can never be executed") is first
    assert list(best) == [other]
    assert pool.queued() == {ANN: {1: second}}


def test_what_is_removed_before_its_turn_is_not_yielded() -> None:
    first, other = transfer(tip=9), transfer(BEN)
    pool = pool_of(first, other)
    best = pool.best()
    pool.remove(first.hash, "dropped by hand")
    assert list(best) == [other]


def test_removing_what_is_not_there_does_nothing() -> None:
    assert pool_of().remove(bytes(32), "no reason") is None


def test_two_readers_do_not_disturb_each_other() -> None:
    transactions = [transfer(ANN), transfer(BEN), transfer(CAT)]
    pool = pool_of(*transactions)
    one, two = pool.best(), pool.best()
    assert [next(one), next(two), *one] == [transactions[0], *transactions]
    assert list(two) == transactions[1:]


# --- Limits --------------------------------------------------------------------


def test_a_full_pool_lets_the_lowest_tip_go() -> None:
    low, middle, high = transfer(ANN, tip=1), transfer(BEN, tip=2), transfer(CAT, tip=3)
    pool = pool_of(middle, low, config=PoolConfig(limit=2))
    assert pool.add(high).evicted == (low.hash,)
    assert list(pool) == [middle, high]


def test_a_full_pool_rejects_what_offers_no_more() -> None:
    pool = pool_of(transfer(ANN, tip=2), config=PoolConfig(limit=1))
    with pytest.raises(errors.PoolRejection, match=r"^txpool is full$"):
        pool.add(transfer(BEN, tip=2))


def test_the_queue_leaves_before_what_is_pending() -> None:
    pending, queued = transfer(ANN, tip=1), transfer(BEN, nonce=1, tip=99)
    pool = pool_of(pending, queued, config=PoolConfig(limit=2))
    assert pool.add(transfer(CAT, tip=1)).evicted == (queued.hash,)
    with pytest.raises(errors.PoolRejection, match="txpool is full"):
        pool.add(transfer(BEN, nonce=1, tip=99))


def test_a_sender_loses_the_last_nonce_first() -> None:
    transactions = [transfer(nonce=nonce, tip=1 + nonce) for nonce in range(3)]
    pool = pool_of(*transactions, config=PoolConfig(limit=3))
    assert pool.add(transfer(BEN, tip=9)).evicted == (transactions[2].hash,)
    assert pool.counts() == (3, 0)


def test_nothing_leaves_for_its_own_successor() -> None:
    pool = pool_of(transfer(tip=1), config=PoolConfig(limit=1))
    with pytest.raises(errors.PoolRejection, match="txpool is full"):
        pool.add(transfer(nonce=1, tip=9))


def test_bytes_are_limited_and_several_may_leave_for_one() -> None:
    small = [transfer(sender, tip=2, size=100) for sender in (ANN, BEN, CAT)]
    pool = pool_of(*small, config=PoolConfig(limit_bytes=sum(map(memory_of, small))))
    added = pool.add(transfer(Address.zero(), tip=3, size=200))
    assert added.evicted == (small[2].hash, small[1].hash)


def test_a_rejected_transaction_evicts_nothing() -> None:
    transactions = [transfer(ANN, tip=1, size=100), transfer(BEN, tip=9, size=100)]
    pool = pool_of(*transactions, config=PoolConfig(limit_bytes=sum(map(memory_of, transactions))))
    for _ in range(2):
        with pytest.raises(errors.PoolRejection, match="txpool is full"):
            pool.add(transfer(CAT, tip=5, size=200))
    assert list(pool) == transactions
    assert pool.add(transfer(CAT, tip=5, size=100)).evicted == (transactions[0].hash,)


def test_rejections_leave_nothing_behind() -> None:
    pool = pool_of(transfer(tip=2), transfer(BEN, tip=2), config=PoolConfig(limit=2))
    for _ in range(1_000):
        with pytest.raises(errors.PoolRejection, match="txpool is full"):
            pool.add(transfer(BEN, nonce=1, tip=1))
    assert len(pool._evictions._heap or []) < 100


def test_a_sender_has_a_limit() -> None:
    pool = pool_of(transfer(), transfer(nonce=1), config=PoolConfig(sender_limit=2))
    with pytest.raises(errors.PoolRejection, match=r"^account limit exceeded"):
        pool.add(transfer(nonce=2))
    assert pool.add(transfer(nonce=1, fee_cap=1_100, tip=2)).replaced is not None
    assert pool.add(transfer(BEN)).is_pending


def test_a_full_queue_evicts_higher_nonces_for_lower_ones() -> None:
    config = PoolConfig(queue_limit=2)
    pool = pool_of(transfer(nonce=5), last := transfer(nonce=6), config=config)
    with pytest.raises(errors.PoolRejection, match="account limit exceeded:"):
        pool.add(transfer(nonce=7))
    assert pool.add(transfer(nonce=4)).evicted == (last.hash,)
    assert pool.add(transfer(nonce=0)).evicted == ()


def test_the_missing_nonce_is_accepted_from_a_sender_at_the_limit() -> None:
    config = PoolConfig(sender_limit=2)
    pool = pool_of(second := transfer(nonce=1), last := transfer(nonce=2), config=config)
    added = pool.add(first := transfer(nonce=0))
    assert added.evicted == (last.hash,)
    assert pool.pending() == {ANN: {0: first, 1: second}}


def test_a_sender_at_the_limit_makes_room_once() -> None:
    queued = [transfer(nonce=1, size=100), transfer(nonce=2, size=100)]
    other = transfer(BEN, size=100)
    config = PoolConfig(sender_limit=2, limit_bytes=sum(map(memory_of, [*queued, other])))
    pool = pool_of(*queued, other, config=config)
    added = pool.add(first := transfer(tip=9, size=200))
    assert added.evicted == (queued[1].hash, queued[0].hash)
    assert list(pool) == [other, first]


def test_a_full_pool_knows_what_is_last_after_a_removal() -> None:
    first, last = transfer(tip=1), transfer(nonce=1, tip=2)
    pool = pool_of(first, last, transfer(BEN, tip=5), config=PoolConfig(limit=3))
    with pytest.raises(errors.PoolRejection, match="txpool is full"):
        pool.add(transfer(CAT, tip=1))
    pool.remove(last.hash, "dropped by hand")
    pool.add(transfer(CAT, tip=4))
    assert pool.add(transfer(Address.zero(), tip=4)).evicted == (first.hash,)


def test_a_sole_transaction_can_give_way_to_a_lower_nonce() -> None:
    pool = pool_of(last := transfer(nonce=2), config=PoolConfig(sender_limit=1))
    assert pool.add(first := transfer()).evicted == (last.hash,)
    assert pool.pending() == {ANN: {0: first}}


# --- Following the head ----------------------------------------------------------


def test_a_block_removes_what_it_included() -> None:
    first, second, other = transfer(), transfer(nonce=1), transfer(BEN)
    pool = pool_of(first, second, other)
    refreshed = pool.on_block([first.hash], Accounts(nonces={ANN: 1}).state, BASE_FEE)
    assert refreshed == PoolUpdated((), ())
    assert list(pool.best()) == [second, other]


def test_a_used_nonce_drops_what_was_not_included() -> None:
    stale, next_one = transfer(), transfer(nonce=1)
    pool = pool_of(stale, next_one)
    (dropped,) = pool.on_block([], Accounts(nonces={ANN: 1}).state, BASE_FEE).dropped
    assert (dropped.hash, str(dropped.reason)) == (
        stale.hash,
        "nonce too low: next nonce 1, tx nonce 0",
    )
    assert list(pool) == [next_one]


def test_a_block_can_fill_a_gap() -> None:
    pool = pool_of(queued := transfer(nonce=1))
    assert pool.on_block([], Accounts(nonces={ANN: 1}).state, BASE_FEE).promoted == (queued.hash,)
    assert list(pool.best()) == [queued]


def test_what_became_unaffordable_is_dropped() -> None:
    cheap, dear, after = transfer(), transfer(nonce=1, value=10**9), transfer(nonce=2)
    pool = pool_of(cheap, dear, after)
    (dropped,) = pool.on_block([], Accounts(balances={ANN: 10**9}).state, BASE_FEE).dropped
    assert dropped.hash == dear.hash
    assert isinstance(dropped.reason, errors.InsufficientFunds)
    assert (pool.pending(), pool.queued()) == ({ANN: {0: cheap}}, {ANN: {2: after}})


def test_a_sender_that_became_a_contract_loses_everything() -> None:
    pool = pool_of(transfer(), transfer(nonce=1), other := transfer(BEN))
    dropped = pool.on_block([], Accounts(codes={ANN: b"\x5f"}).state, BASE_FEE).dropped
    assert [str(drop.reason) for drop in dropped] == ["sender not an eoa"] * 2
    assert list(pool) == [other]


def test_what_a_block_included_leaves_even_if_the_reader_knows_nothing_of_it() -> None:
    pool = pool_of(first := transfer())
    assert pool.on_block([first.hash, bytes(32)], Accounts().state, BASE_FEE) == PoolUpdated((), ())
    assert len(pool) == 0


def test_only_touched_senders_are_read_if_they_are_named() -> None:
    first, other, untouched = transfer(), transfer(BEN), transfer(CAT)
    pool = pool_of(first, other, untouched)
    accounts = Accounts(nonces={ANN: 1, BEN: 1, CAT: 1})
    stranger = Address(bytes([9] * 20))
    pool.on_block([first.hash], accounts.state, BASE_FEE, touched=[BEN, stranger])
    assert (list(pool), accounts.reads) == ([untouched], 2)


def test_a_reset_adds_the_transactions_of_reverted_blocks() -> None:
    first, second = transfer(tip=1), transfer(nonce=1, tip=9)
    pool = pool_of(first, second)
    pool.on_block([first.hash], Accounts(nonces={ANN: 1}).state, BASE_FEE)
    assert list(pool.best()) == [second]
    refreshed = pool.reset(Accounts().state, BASE_FEE, reverted=[first])
    assert refreshed == PoolUpdated((first.hash, second.hash), ())
    assert list(pool.best()) == [first, second]


def test_going_back_without_them_leaves_a_gap() -> None:
    first, second = transfer(), transfer(nonce=1)
    pool = pool_of(first, second)
    pool.on_block([first.hash], Accounts(nonces={ANN: 1}).state, BASE_FEE)
    pool.reset(Accounts().state, BASE_FEE)
    assert (pool.pending(), pool.queued()) == ({}, {ANN: {1: second}})
    assert list(pool.best()) == []


def test_a_reverted_transaction_that_is_rejected_is_reported() -> None:
    pool = pool_of()
    reverted = transfer(fee_cap=BASE_FEE)
    (dropped,) = pool.reset(Accounts().state, BASE_FEE + 1, reverted=[reverted]).dropped
    assert isinstance(dropped, TransactionDropped)
    assert dropped.hash == reverted.hash
    assert "max fee per gas less than block base fee" in str(dropped.reason)


def test_an_eviction_for_a_reverted_transaction_is_reported() -> None:
    pool = pool_of(low := transfer(tip=1), config=PoolConfig(limit=1))
    refreshed = pool.reset(Accounts().state, BASE_FEE, reverted=[high := transfer(BEN, tip=9)])
    assert refreshed.promoted == (high.hash,)
    assert [(drop.hash, str(drop.reason)) for drop in refreshed.dropped] == [
        (low.hash, "txpool is full")
    ]


# --- Snapshots -------------------------------------------------------------------


def test_a_snapshot_can_be_restored_again_and_again() -> None:
    first, second, queued = transfer(), transfer(BEN, tip=5), transfer(nonce=7)
    pool = pool_of(first, second, queued)
    snapshot = pool.checkpoint()
    for _ in range(2):
        pool.add(transfer(CAT))
        pool.on_block([first.hash], Accounts(nonces={ANN: 7, BEN: 1}).state, BASE_FEE + 1)
        pool.adopt(pool.restored(snapshot, Accounts().state, BASE_FEE))
        assert list(pool) == [first, second, queued]
        assert list(pool.best()) == [second, first]
        assert (pool.next_nonce(ANN), pool.base_fee) == (1, BASE_FEE)
        assert pool.queued() == {ANN: {7: queued}}
