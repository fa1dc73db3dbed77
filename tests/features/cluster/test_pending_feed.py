"""The feed of pending transactions; integration tests cover both sides of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Self

import pytest

from entresol.chain.events import ChainEvents, TransactionPending
from entresol.features.cluster.pending_feed import ACCEPTED, REJECTED, REQUEST, PendingFeed
from entresol.primitives.transactions import decode
from entresol.primitives.values import Data
from tests.support.clients.accounts import signed_transfer

RAW = signed_transfer(0)
PENDING = TransactionPending(decode(Data.parse(RAW)))


class Replica:
    """The connection of a replica."""

    peer = path = host = ""
    is_foreign = False
    closed = False

    def __init__(self, transport: Literal["http", "ws", "local"] = "ws") -> None:
        self.transport: Literal["http", "ws", "local"] = transport
        self.sent: list[bytes] = []
        self.close: Callable[[], object] = lambda: None

    def send(self, data: bytes) -> bool:
        self.sent.append(data)
        return True

    def outbox(self) -> Self:
        return self

    def disconnect(self, reason: str) -> None: ...

    def on_close(self, callback: Callable[[], object]) -> None:
        self.close = callback


def asks(name: str) -> bytes:
    return f"{REQUEST}{name}".encode()


def test_every_replica_gets_a_transaction_once() -> None:
    events = ChainEvents()
    feed = PendingFeed(events, {"a", "b"}, lambda: True)
    replicas = {"a": Replica(), "b": Replica()}
    for name, replica in (*replicas.items(), *replicas.items()):
        assert feed.accept(asks(name), replica) == ACCEPTED
    events.publish(PENDING)
    assert [it.sent for it in replicas.values()] == [[RAW.encode()]] * 2


def test_a_node_that_does_not_produce_rejects_replicas_and_passes_nothing_on() -> None:
    events = ChainEvents()
    is_producer = True
    feed = PendingFeed(events, {"a"}, lambda: is_producer)
    assert feed.accept(asks("a"), Replica("http")) == REJECTED
    replica = Replica()
    feed.accept(asks("a"), replica)
    is_producer = False
    events.publish(PENDING)
    assert replica.sent == []
    assert feed.accept(asks("a"), Replica()) == REJECTED


@pytest.mark.parametrize(
    "body",
    [b"", asks(""), asks("b"), b"\xff", b"a" * (1 << 20)],
    ids=["nothing", "an empty id", "another id", "no text", "a long one"],
)
def test_a_client_that_is_no_member_gets_nothing_and_takes_no_place(body: bytes) -> None:
    events = ChainEvents()
    feed = PendingFeed(events, {"a"}, lambda: True)
    strangers = [Replica() for _ in range(2_000)]
    assert {feed.accept(body, stranger) for stranger in strangers} == {REJECTED}
    member = Replica()
    assert feed.accept(asks("a"), member) == ACCEPTED
    events.publish(PENDING)
    assert [stranger.sent for stranger in strangers if stranger.sent] == []
    assert member.sent == [RAW.encode()]


def test_a_new_connection_of_a_replica_takes_the_place_of_the_last() -> None:
    events = ChainEvents()
    feed = PendingFeed(events, {"a"}, lambda: True)
    old, new = Replica(), Replica()
    feed.accept(asks("a"), old)
    feed.accept(asks("a"), new)
    # Its end may be noticed late.
    old.close()
    events.publish(PENDING)
    assert (old.sent, len(new.sent)) == ([], 1)
