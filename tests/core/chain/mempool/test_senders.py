"""How long transactions wait for a nonce."""

from __future__ import annotations

from entresol.chain.mempool import Mempool, PoolConfig
from entresol.chain.mempool.senders import PooledTransaction, QueueLifetime, SenderTransactions
from tests.support.chain.mempool_accounts import ANN, BASE_FEE, BEN, RULES, Accounts, transfer


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def sender_of(*nonces: int, at: int = 0) -> SenderTransactions:
    """Return the transactions of a sender whose next nonce is `at`."""
    sender_txs = SenderTransactions(ANN, at, 10**18)
    for arrival, nonce in enumerate(nonces):
        sender_txs.put(PooledTransaction.of(transfer(nonce=nonce), arrival))
    return sender_txs


def test_what_waits_for_a_nonce_expires() -> None:
    clock = Time()
    lifetime = QueueLifetime(60, clock)
    lifetime.update(sender_of(3))
    clock.now += 59
    assert lifetime.expired() == []
    clock.now += 1
    assert lifetime.expired() == [ANN]


def test_a_sender_whose_transactions_become_pending_counts_anew() -> None:
    clock = Time()
    lifetime = QueueLifetime(60, clock)
    lifetime.update(sender_of(3))
    clock.now += 59
    lifetime.update(sender_of(0, 3), has_promoted=True)
    clock.now += 1
    assert lifetime.expired() == []


def test_what_is_pending_never_expires() -> None:
    clock = Time()
    lifetime = QueueLifetime(60, clock)
    lifetime.update(sender_of(3))
    lifetime.update(sender_of(0))
    clock.now += 10**6
    assert lifetime.expired() == []


def test_a_pool_drops_what_has_expired_and_keeps_what_is_pending() -> None:
    config = PoolConfig(queue_seconds=0.0)
    pool = Mempool(RULES, Accounts().state, base_fee=BASE_FEE, config=config)
    for nonce in (0, 2, 3):
        pool.add(transfer(nonce=nonce))
    pool.add(transfer(BEN, nonce=0))
    assert (pool.counts().pending, pool.counts().queued) == (2, 0)


def test_a_restored_pool_counts_anew() -> None:
    config = PoolConfig(queue_seconds=0.0)
    pool = Mempool(RULES, Accounts().state, base_fee=BASE_FEE, config=config)
    pool.add(transfer(nonce=2))
    restored = pool.restored(pool.checkpoint(), Accounts().state, BASE_FEE)
    assert len(restored) == 1
    restored.on_block([], Accounts().state, BASE_FEE, touched=[])
    assert not len(restored)
