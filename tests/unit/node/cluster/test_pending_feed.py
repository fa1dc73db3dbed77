"""The feed of pending transactions; integration tests cover both sides of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from entresol.chain.events import ChainEvents, TransactionPending
from entresol.node.cluster.pending_feed import ACCEPTED, REJECTED, PendingFeed
from entresol.primitives.transactions import decode
from entresol.primitives.values import Data
from tests.support.clients.accounts import signed_transfer

RAW = signed_transfer(0)
PENDING = TransactionPending(decode(Data.parse(RAW)))


class Replica:
    """The connection of a replica."""

    peer = path = host = ""
    closed = False

    def __init__(self, transport: Literal["http", "ws", "local"] = "ws") -> None:
        self.transport: Literal["http", "ws", "local"] = transport
        self.sent: list[bytes] = []
        self.close: Callable[[], object] = lambda: None

    def send(self, data: bytes) -> bool:
        self.sent.append(data)
        return True

    def on_close(self, callback: Callable[[], object]) -> None:
        self.close = callback


def test_every_replica_gets_a_transaction_once() -> None:
    events = ChainEvents()
    feed = PendingFeed(events, lambda: True)
    replicas = [Replica(), Replica()]
    for replica in (*replicas, *replicas):
        assert feed.accept(replica) == ACCEPTED
    events.publish(PENDING)
    assert [it.sent for it in replicas] == [[RAW.encode()]] * 2


def test_a_replica_that_has_left_gets_nothing() -> None:
    events = ChainEvents()
    feed = PendingFeed(events, lambda: True)
    gone, there = Replica(), Replica()
    feed.accept(gone)
    feed.accept(there)
    gone.close()
    events.publish(PENDING)
    assert (gone.sent, len(there.sent)) == ([], 1)
    there.close()
    events.publish(PENDING)
    assert len(there.sent) == 1


def test_a_node_that_does_not_produce_rejects_replicas_and_passes_nothing_on() -> None:
    events = ChainEvents()
    is_producer = True
    feed = PendingFeed(events, lambda: is_producer)
    assert feed.accept(Replica("http")) == REJECTED
    replica = Replica()
    feed.accept(replica)
    is_producer = False
    events.publish(PENDING)
    assert replica.sent == []
    assert feed.accept(Replica()) == REJECTED
