"""What the pool holds, in which order it gives it, and when it lets it go."""

from __future__ import annotations

import pytest

from entresol import errors
from entresol.chain.mempool import Mempool, PoolConfig, TransactionDropped
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Address
from tests.support.chain.mempool_accounts import ANN, BASE_FEE, BEN, CAT, RULES, Accounts, transfer


def pool_of(
    *transactions: Transaction, config: PoolConfig | None = None, accounts: Accounts | None = None
) -> Mempool:
    pool = Mempool(RULES, (accounts or Accounts()).state, base_fee=BASE_FEE, config=config)
    for transaction in transactions:
        pool.add(transaction)
    return pool


def test_transactions_are_found_by_hash_and_by_nonce() -> None:
    first, later = transfer(), transfer(nonce=5)
    pool = pool_of(first, later)
    assert (pool.get(first.hash), pool.find(ANN, 5)) == (first, later)
    assert (pool.get(bytes(32)), pool.find(ANN, 1), pool.find(BEN, 0)) == (None, None, None)
    assert (first.hash in pool, bytes(32) in pool) == (True, False)
    assert (pool.is_pending(first.hash), pool.is_pending(later.hash)) == (True, False)


def test_ten_percent_are_rounded_down_but_never_nothing() -> None:
    assert pool_of(transfer(tip=15)).add(transfer(tip=16, fee_cap=1_100)).replaced is not None
    with pytest.raises(errors.PoolRejection, match="replacement transaction underpriced:"):
        pool_of(transfer(tip=5)).add(transfer(tip=5, fee_cap=1_100))


def test_what_is_removed_before_its_turn_is_not_yielded() -> None:
    first, other = transfer(tip=9), transfer(BEN)
    pool = pool_of(first, other)
    best = pool.best()
    pool.remove(first.hash, "dropped by hand")
    assert list(best) == [other]


def test_two_readers_do_not_disturb_each_other() -> None:
    transactions = [transfer(ANN), transfer(BEN), transfer(CAT)]
    pool = pool_of(*transactions)
    one, two = pool.best(), pool.best()
    assert [next(one), next(two), *one] == [transactions[0], *transactions]
    assert list(two) == transactions[1:]


def test_rejections_leave_nothing_behind() -> None:
    pool = pool_of(transfer(tip=2), transfer(BEN, tip=2), config=PoolConfig(limit=2))
    for _ in range(1_000):
        with pytest.raises(errors.PoolRejection, match="txpool is full"):
            pool.add(transfer(BEN, nonce=1, tip=1))
    assert len(pool._evictions._heap or []) < 100


def test_a_used_nonce_drops_what_was_not_included() -> None:
    stale, next_one = transfer(), transfer(nonce=1)
    pool = pool_of(stale, next_one)
    (dropped,) = pool.on_block([], Accounts(nonces={ANN: 1}).state, BASE_FEE).dropped
    assert (dropped.hash, str(dropped.reason)) == (
        stale.hash,
        "nonce too low: next nonce 1, tx nonce 0",
    )
    assert list(pool) == [next_one]


def test_a_sender_that_became_a_contract_loses_everything() -> None:
    pool = pool_of(transfer(), transfer(nonce=1), other := transfer(BEN))
    dropped = pool.on_block([], Accounts(codes={ANN: b"\x5f"}).state, BASE_FEE).dropped
    assert [str(drop.reason) for drop in dropped] == ["sender not an eoa"] * 2
    assert list(pool) == [other]


def test_only_touched_senders_are_read_if_they_are_named() -> None:
    first, other, untouched = transfer(), transfer(BEN), transfer(CAT)
    pool = pool_of(first, other, untouched)
    accounts = Accounts(nonces={ANN: 1, BEN: 1, CAT: 1})
    stranger = Address(bytes([9] * 20))
    pool.on_block([first.hash], accounts.state, BASE_FEE, touched=[BEN, stranger])
    assert (list(pool), accounts.reads) == ([untouched], 2)


def test_a_reverted_transaction_that_is_rejected_is_reported() -> None:
    pool = pool_of()
    reverted = transfer(fee_cap=BASE_FEE)
    (dropped,) = pool.reset(Accounts().state, BASE_FEE + 1, reverted=[reverted]).dropped
    assert isinstance(dropped, TransactionDropped)
    assert dropped.hash == reverted.hash
    assert "max fee per gas less than block base fee" in str(dropped.reason)
