"""Subscriptions: each event once, in order, to its subscribers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from entresol.chain.events import BACKLOG, BlockSealed
from entresol.errors import InvalidFilter, MalformedValue, SubscriptionRejected, SubscriptionsFull
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import Transaction
from entresol.rpc.cache import BlockLogs
from entresol.rpc.pubsub.subscriptions import (
    MAX_PENDING,
    TOO_MUCH_PENDING,
    NotificationRenderer,
    Subscriptions,
)
from entresol.rpc.types.log_filter import SubscriptionOptions
from entresol.server.handler import LocalConnection
from tests.support.chain.log_emitter import DOUBLE, SINGLE, EmittingChain
from tests.support.chain.steering import revert


class Client(LocalConnection):
    """A connection that keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.close: Callable[[], object] = lambda: None
        self.reasons: list[str] = []

    def disconnect(self, reason: str) -> None:
        self.reasons.append(reason)

    def send(self, data: bytes) -> bool:
        self.sent.append(data)
        return True

    def on_close(self, callback: Callable[[], object]) -> None:
        self.close = callback

    def heard_logs(self, identity: str) -> list[tuple[int, str, bool]]:
        """Return block, address and fate of the logs sent for one subscription."""
        return [
            (int(heard["blockNumber"], 16), heard["address"], heard["removed"])
            for heard in self.heard(identity)
        ]

    def heard(self, identity: str) -> list[Any]:
        """Return the results sent for one subscription."""
        messages = [json.loads(data) for data in self.sent]
        for message in messages:
            assert message["jsonrpc"] == "2.0"
            assert message["method"] == "eth_subscription"
        params = [message["params"] for message in messages]
        return [param["result"] for param in params if param["subscription"] == identity]


class PlainFormat(NotificationRenderer):
    """A format just rich enough to distinguish things; it counts what it renders."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()

    def header(self, sealed: BlockSealed) -> bytes:
        self.made["header"] += 1
        return b'"%b"' % str(sealed.hash).encode()

    def logs(self, record: BlockRecord, *, removed: bool) -> BlockLogs:
        self.made["logs"] += 1
        return BlockLogs(record, None, removed=removed)

    def transaction(self, transaction: Transaction) -> bytes:
        self.made["transaction"] += 1
        return json.dumps({"hash": str(transaction.hash)}).encode()


@pytest.fixture
def plain_format() -> PlainFormat:
    return PlainFormat()


@pytest.fixture
def subscriptions(chain: EmittingChain, plain_format: PlainFormat) -> Subscriptions:
    return Subscriptions(chain.events, chain.blocks, plain_format)


def test_67_nothing_is_replayed_from_before_the_subscription(
    chain: EmittingChain, subscriptions: Subscriptions
) -> None:
    early, late = Client(), Client()
    first = subscriptions.subscribe(early, "newHeads")
    chain.seal_emission()
    kinds = ("newHeads", "logs", "newPendingTransactions")
    others = [subscriptions.subscribe(late, kind) for kind in kinds]
    subscriptions.publish()
    assert len(early.heard(first)) == 1
    assert not late.sent
    chain.seal_emission()
    subscriptions.publish()
    assert [len(late.heard(other)) for other in others] == [1, 1, 1]


def test_67_unsubscribing_leaves_the_others(
    chain: EmittingChain, subscriptions: Subscriptions
) -> None:
    one, other = Client(), Client()
    first = subscriptions.subscribe(one, "newHeads")
    second = subscriptions.subscribe(one, "newHeads")
    third = subscriptions.subscribe(other, "newHeads")
    assert not subscriptions.unsubscribe(other, first)
    assert subscriptions.unsubscribe(one, first)
    assert not subscriptions.unsubscribe(one, first)
    chain.builder.seal()
    subscriptions.publish()
    assert [len(one.heard(first)), len(one.heard(second)), len(other.heard(third))] == [0, 1, 1]


def test_syncing_is_one_message_after_the_response(subscriptions: Subscriptions) -> None:
    client = Client()
    syncing = subscriptions.subscribe(client, "syncing")
    gone = subscriptions.subscribe(client, "syncing")
    subscriptions.unsubscribe(client, gone)
    assert not client.sent
    subscriptions.publish()
    subscriptions.publish()
    assert client.heard(syncing) == [False]
    assert client.heard(gone) == []


def test_removed_blocks_send_their_logs_marked_and_the_new_heads(
    chain: EmittingChain, subscriptions: Subscriptions
) -> None:
    client = Client()
    checkpoint = chain.history.mark()
    for _ in range(2):
        chain.seal_emission()
    logs = subscriptions.subscribe(client, "logs")
    heads = subscriptions.subscribe(client, "newHeads")
    revert(chain, checkpoint)
    chain.seal_emission(SINGLE)
    subscriptions.publish()
    assert client.heard_logs(logs) == [
        (1, str(DOUBLE), True),
        (2, str(DOUBLE), True),
        (1, str(SINGLE), False),
    ]
    assert client.heard(heads) == [str(chain.head.hash())]


def test_a_block_that_is_reverted_before_publishing_is_sent_all_the_same(
    chain: EmittingChain, subscriptions: Subscriptions
) -> None:
    client = Client()
    logs = subscriptions.subscribe(client, "logs")
    checkpoint = chain.history.mark()
    chain.seal_emission()
    revert(chain, checkpoint)
    chain.seal_emission(SINGLE)
    subscriptions.publish()
    assert client.heard_logs(logs) == [
        (1, str(DOUBLE), False),
        (1, str(DOUBLE), True),
        (1, str(SINGLE), False),
    ]


def test_a_result_is_rendered_once_for_all_and_not_without_subscribers(
    chain: EmittingChain, subscriptions: Subscriptions, plain_format: PlainFormat
) -> None:
    clients = [Client() for _ in range(5)]
    for client in clients:
        subscriptions.subscribe(client, "newHeads")
        subscriptions.subscribe(client, "logs")
    chain.seal_emission()
    subscriptions.publish()
    assert plain_format.made == {"header": 1, "logs": 1}
    assert all(len(client.sent) == 2 for client in clients)


def test_a_closed_connection_is_forgotten(
    chain: EmittingChain, subscriptions: Subscriptions
) -> None:
    one, other = Client(), Client()
    for kind in ("newHeads", "logs", "syncing"):
        subscriptions.subscribe(one, kind)
        subscriptions.subscribe(other, kind)
    one.close()
    chain.builder.seal()
    subscriptions.publish()
    assert not one.sent
    assert len(subscriptions) == 3
    other.close()
    assert not len(subscriptions)
    assert not subscriptions._by_connection


def test_a_connection_has_a_limit_of_its_own(
    chain: EmittingChain, plain_format: PlainFormat
) -> None:
    subscriptions = Subscriptions(chain.events, chain.blocks, plain_format, max_per_connection=2)
    one, other = Client(), Client()
    first = subscriptions.subscribe(one, "newHeads")
    subscriptions.subscribe(one, "logs")
    with pytest.raises(SubscriptionsFull, match="Too many subscriptions on the connection"):
        subscriptions.subscribe(one, "logs")
    subscriptions.subscribe(other, "logs")
    assert subscriptions.unsubscribe(one, first)
    subscriptions.subscribe(one, "logs")


@pytest.mark.parametrize("kind", ["heads", "NEWHEADS", "", None, 5, ["logs"], {}])
def test_other_kinds_are_rejected(subscriptions: Subscriptions, kind: object) -> None:
    with pytest.raises(SubscriptionRejected, match="Rejecting subscription \\- invalid"):
        subscriptions.subscribe(Client(), kind)


def test_options_that_cannot_be_read_are_rejected(subscriptions: Subscriptions) -> None:
    client = Client()
    with pytest.raises(InvalidFilter, match="More than four topics"):
        subscriptions.subscribe(client, "logs", SubscriptionOptions({"topics": [None] * 5}))
    with pytest.raises(MalformedValue):
        subscriptions.subscribe(client, "logs", SubscriptionOptions([]))
    with pytest.raises(MalformedValue):
        subscriptions.subscribe(client, "newPendingTransactions", SubscriptionOptions("all"))
    assert not len(subscriptions)


def test_more_events_than_the_backlog_are_all_sent(
    chain: EmittingChain, subscriptions: Subscriptions
) -> None:
    client = Client()
    heads = subscriptions.subscribe(client, "newHeads")
    for _ in range(BACKLOG + 10):
        chain.builder.seal()
    # They are published in turns, however many there are.
    assert client.sent == []
    subscriptions.publish()
    assert len(client.heard(heads)) == BACKLOG + 10


def test_connections_with_most_subscriptions_are_closed_while_too_much_is_pending(
    chain: EmittingChain, subscriptions: Subscriptions
) -> None:
    modest, greedy, greediest = clients = Client(), Client(), Client()
    for client, count in ((modest, 1), (greedy, 500), (greediest, 1_000)):
        for _ in range(count):
            subscriptions.subscribe(client, "newHeads")
    sealed = 0
    while not greedy.reasons:
        assert sealed * len(subscriptions) <= MAX_PENDING
        chain.builder.seal()
        sealed += 1
    assert [client.reasons for client in clients] == [[], [TOO_MUCH_PENDING], [TOO_MUCH_PENDING]]
    assert len(subscriptions) == 1
    subscriptions.publish()
    assert [len(client.sent) for client in clients] == [sealed, 0, 0]
    # Their connections close later.
    greedy.close()
    greediest.close()
    assert len(subscriptions) == 1


def test_the_event_loop_is_woken_once_until_it_publishes(
    chain: EmittingChain, plain_format: PlainFormat
) -> None:
    woken: list[None] = []
    subscriptions = Subscriptions(
        chain.events, chain.blocks, plain_format, wake=lambda: woken.append(None)
    )
    chain.builder.seal()
    assert not woken
    subscriptions.subscribe(Client(), "newHeads")
    for _ in range(3):
        chain.builder.seal()
    assert len(woken) == 1
    subscriptions.publish()
    chain.builder.seal()
    assert len(woken) == 2
    subscriptions.close()
    assert not any(chain.events._listeners.values())


def test_notifications_are_sent_in_turns_that_others_interrupt(
    chain: EmittingChain, subscriptions: Subscriptions
) -> None:
    client, other = Client(), Client()
    logs = subscriptions.subscribe(client, "logs")
    subscriptions.subscribe(other, "logs")
    for _ in range(3):
        chain.emit()
    chain.builder.seal()
    turns = 0
    while not subscriptions.publish_for(0.0):
        turns += 1
        if turns == 6:
            subscriptions.unsubscribe(client, logs)
    assert turns > 6
    assert 0 < len(client.sent) < len(other.sent) == 3
    assert subscriptions.publish_for(0.0)


def test_a_subscription_between_two_turns_gets_nothing_from_before_it(
    chain: EmittingChain, subscriptions: Subscriptions
) -> None:
    early, late = Client(), Client()
    subscriptions.subscribe(early, "newHeads")
    for _ in range(3):
        chain.builder.seal()
    assert not subscriptions.publish_for(0.0)
    subscriptions.subscribe(late, "newHeads")
    chain.builder.seal()
    while not subscriptions.publish_for(0.0):
        pass
    assert (len(early.sent), len(late.sent)) == (4, 1)
