"""The server of a call of a replica, by declaration, block tag and store; and batches that mix them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw

from entresol.errors import ProducerUnavailable
from entresol.replication.router import ReplicaRouter, ReplicaState
from entresol.rpc.jsonrpc.dispatch import Dispatcher, RequestLimits
from entresol.rpc.jsonrpc.envelope import decode_request
from entresol.rpc.jsonrpc.forwarding import request_bytes
from entresol.rpc.jsonrpc.method import Order, ServedBy, method
from entresol.rpc.jsonrpc.request_batch import Response
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.server.handler import ClientConnection, LocalConnection, completed
from tests.support.example_namespace import dispatch
from tests.support.polling import PATIENCE_SECONDS


class Ledger:
    """Methods of every kind; each returns who served it."""

    prefix = "x"

    def __init__(self, name: str, caught_up: Callable[[], int] = lambda: -1) -> None:
        self._name = name
        self._caught_up = caught_up
        self.sent: list[str] = []

    @method(served_by=ServedBy.REPLICA)
    def hash(self) -> str:
        return self._name

    @method(served_by=ServedBy.BLOCK)
    def balance(self, block: BlockId = LATEST) -> str:
        assert isinstance(block, BlockId)
        return self._name

    @method(served_by=ServedBy.STORE)
    def find(self, name: str) -> Raw | None:
        return None if name == "pending" and self._name == "replica" else Raw(self._quoted())

    @method(served_by=ServedBy.STORE)
    def raw(self) -> Raw:
        return Raw(b'"0x"' if self._name == "replica" else self._quoted())

    @method(served_by=ServedBy.QUOTE)
    def price(self) -> str:
        return self._name

    @method()
    def send(self, what: str) -> str:
        self.sent.append(what)
        return self._name

    @method(order=Order.LAST, served_by=ServedBy.REPLICA)
    def number(self) -> int:
        return self._caught_up()

    @method(order=Order.GROUPED)
    def bundle(self, what: str) -> str:
        return self.send(what)

    @method(waits=True)
    def receive(self) -> str:
        return self._name

    @method(getter=True, served_by=ServedBy.BLOCK)
    def head(self) -> str:
        """Return something that the crate may read."""
        return self._name

    @method(getter=True)
    def keys(self) -> str:
        """Return something that only the producer has."""
        return self._name

    @method()
    def undeclared(self) -> str:
        return self._name

    @method()
    def subscribe(self, connection: ClientConnection) -> str:
        assert connection.path == "/"
        return self._name

    def _quoted(self) -> bytes:
        return json.dumps(self._name).encode()


class Forward:
    """A producer in the same process."""

    def __init__(self) -> None:
        self.ledger = Ledger("producer")
        self._dispatcher = Dispatcher([self.ledger])
        self.state = ReplicaState.WORKER
        self.bodies: list[bytes] = []
        self.waits: list[bool] = []
        self.ordered: list[bool] = []
        self.problem: str | None = None
        self.caught_up = 0

    async def forward(
        self, body: bytes, connection: ClientConnection, *, waits: bool, ordered: bool
    ) -> bytes | None:
        self.waits.append(waits)
        self.ordered.append(ordered)
        if self.problem is not None:
            raise ProducerUnavailable(self.problem)
        self.bodies.append(body)
        # As every way to a producer has.
        async with asyncio.timeout(PATIENCE_SECONDS):
            response = await completed(self._dispatcher.handle(body, connection))
        assert response is None or isinstance(response, bytes)
        return response

    def catch_up(self) -> None:
        self.caught_up += 1


class Replica:
    def __init__(self, limits: RequestLimits = RequestLimits()) -> None:  # noqa: B008  # frozen
        self.producer = Forward()
        router = ReplicaRouter(self.producer, self.producer)
        ledger = Ledger("replica", lambda: self.producer.caught_up)
        self._dispatcher = Dispatcher([ledger], router=router, limits=limits)

    def send(self, body: object) -> Any:
        response = dispatch(self._dispatcher, json.dumps(body).encode())
        return None if response is None else json.loads(response)

    def __call__(self, name: str, *params: object) -> Any:
        return self.send(call(name, *params))["result"]


def call(name: str, *params: object, request_id: int | None = 1) -> dict[str, object]:
    named = {} if request_id is None else {"id": request_id}
    return {"jsonrpc": "2.0", **named, "method": f"x_{name}", "params": list(params)}


@pytest.mark.parametrize(
    ("name", "params", "server"),
    [
        ("hash", [], "replica"),
        ("balance", [], "replica"),
        ("balance", ["latest"], "replica"),
        ("balance", ["0x1"], "replica"),
        ("balance", ["pending"], "producer"),
        ("balance", [{"blockNumber": "pending"}], "producer"),
        ("find", ["sealed"], "replica"),
        ("find", ["pending"], "producer"),
        ("raw", [], "producer"),
        ("price", [], "replica"),
        ("head", [], "replica"),
        ("keys", [], "producer"),
        ("send", ["x"], "producer"),
        ("undeclared", [], "producer"),
        ("subscribe", [], "replica"),
    ],
)
def test_a_call_is_served_where_its_method_and_its_block_say(
    name: str, params: list[object], server: str
) -> None:
    assert Replica()(name, *params) == server


def test_an_escaped_tag_is_forwarded_too() -> None:
    replica = Replica()
    body = rb'{"jsonrpc":"2.0","id":1,"method":"x_balance","params":["pend\u0069ng"]}'
    response = dispatch(replica._dispatcher, body)
    assert response is not None
    assert json.loads(response)["result"] == "producer"


def test_what_is_forwarded_can_change() -> None:
    replica = Replica()
    replica.producer.state = ReplicaState.EDITED
    names = ("hash", "balance", "price", "head")
    assert [replica(name) for name in names] == ["replica", *["producer"] * 3]


def test_a_batch_runs_in_order_and_consecutive_forwarded_items_go_together() -> None:
    replica = Replica()
    batch = [
        call("hash", request_id=1),
        call("send", "a", request_id=2),
        call("send", "b", request_id=3),
        call("hash", request_id=4),
        call("send", "c", request_id=5),
        {"no": "request"},
        call("send", "silent", request_id=None),
    ]
    responses = replica.send(batch)
    assert [response.get("result") for response in responses] == [
        "replica", "producer", "producer", "replica", "producer", None,
    ]  # fmt: skip
    assert [response["id"] for response in responses] == [1, 2, 3, 4, 5, None]
    assert replica.producer.ledger.sent == ["a", "b", "c", "silent"]
    assert len(replica.producer.bodies) == 3
    assert replica.producer.caught_up == 3


def test_a_last_call_of_a_replica_sees_what_the_batch_has_forwarded() -> None:
    replica = Replica()
    batch = [
        call("number", request_id=1),
        call("send", "a", request_id=2),
        call("number", request_id=None),
        call("number", request_id=3),
        call("hash", request_id=4),
        call("send", "b", request_id=5),
    ]
    responses = replica.send(batch)
    assert [(response["id"], response["result"]) for response in responses] == [
        (1, 2), (2, "producer"), (3, 2), (4, "replica"), (5, "producer"),
    ]  # fmt: skip
    assert replica.producer.ledger.sent == ["a", "b"]


def test_a_last_call_that_is_the_producers_is_forwarded_after_the_others() -> None:
    replica = Replica()
    replica.producer.state = ReplicaState.STALE
    batch = [call("number", request_id=1), call("send", "a", request_id=2)]
    assert [response["id"] for response in replica.send(batch)] == [1, 2]
    assert [b"x_number" in body for body in replica.producer.bodies] == [False, True]


def test_the_responses_of_a_batch_have_one_limit_wherever_they_come_from() -> None:
    replica = Replica(RequestLimits(response_bytes=200))
    mixed = [call("hash"), call("send", "a")] * 5
    assert (
        replica.send(mixed)["error"]["code"] == replica.send([call("hash")] * 10)["error"]["code"]
    )
    assert len(replica.producer.ledger.sent) == 2, "no more calls start"


def test_a_producer_that_does_not_answer_is_an_error_for_each_call() -> None:
    replica = Replica()
    replica.producer.problem = "is away"
    assert "is away" in replica.send(call("send", "a"))["error"]["message"]
    first, second, third = replica.send(
        [call("send", "a"), call("send", "b", request_id=None), call("hash"), call("send", "c")]
    )
    assert (first["error"]["code"], second["result"], third["error"]["code"]) == (
        -32000, "replica", -32000,
    )  # fmt: skip


def test_what_may_take_as_long_as_its_client_wants_is_forwarded_as_such() -> None:
    replica = Replica()
    replica("send", "a")
    replica("receive")
    replica.send([call("send", "a"), call("receive"), call("hash"), call("send", "b")])
    assert replica.producer.waits == [False, True, True, False]


def test_what_sends_has_its_place_after_what_its_client_has_sent() -> None:
    replica = Replica()
    for document in (call("send", "a"), call("bundle", "a"), call("receive")):
        replica.send(document)
    replica.send([call("send", "a"), call("bundle", "a")])
    assert replica.producer.ordered == [False, True, True, True]


@pytest.mark.parametrize("name", ["send", "bundle"])
def test_a_forwarded_call_waits_in_a_task_though_requests_are_handled_outside_of_one(
    name: str,
) -> None:
    replica = Replica()
    body = json.dumps(call(name, "a")).encode()

    async def handled_by_a_callback() -> bytes | None:
        handled: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        def handle() -> None:
            try:
                handled.set_result(replica._dispatcher.handle(body, LocalConnection()))
            except RuntimeError as error:
                handled.set_exception(error)

        asyncio.get_running_loop().call_soon(handle)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await completed(await handled)

    response = asyncio.run(handled_by_a_callback())
    assert json.loads(response or b"null")["result"] == "producer"


def test_a_forwarded_notification_has_no_response() -> None:
    replica = Replica()
    assert replica.send(call("send", "a", request_id=None)) is None
    assert replica.send([call("send", "b", request_id=None)]) is None
    assert replica.producer.ledger.sent == ["a", "b"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1.0,"method":"eth_call","params":[{"to": "0x0"}, 1e3]}',
        b'{"jsonrpc":"2.0","id":"a\\"b","method":"m\\n"}',
        b'{"jsonrpc":"2.0","method":"m","params":{}}',
    ],
)
def test_a_forwarded_request_is_what_came(body: bytes) -> None:
    assert request_bytes(decode_request(body)) == body
