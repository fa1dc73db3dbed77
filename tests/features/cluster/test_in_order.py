"""What a client sends through a replica begins in the order in which it comes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from entresol.errors import ProducerUnavailable
from entresol.features.cluster import in_order
from entresol.features.cluster.in_order import InOrder
from entresol.server.handler import LocalConnection


def request(number: int, *, has_id: bool = True) -> bytes:
    part = f'"id":{number},' if has_id else ""
    return f'{{"jsonrpc":"2.0",{part}"method":"send","params":[{number}]}}'.encode()


class Producer:
    """Responds to what is forwarded once it is told to, with the ids of the requests."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.respond = asyncio.Event()
        self.batches = True
        self.drops_last = False
        self.problem: str | None = None

    async def forward(self, body: bytes, _end: float, *, waits: bool) -> bytes | None:
        self.bodies.append(body)
        if waits:
            await asyncio.Event().wait()
        await self.respond.wait()
        if self.problem is not None:
            raise ProducerUnavailable(self.problem)
        found = json.loads(body)
        if not isinstance(found, list):
            return str(found["id"]).encode() if "id" in found else None
        if not self.batches:
            return b'{"error":"too long"}'
        if self.drops_last:
            found.pop()
        return json.dumps([it["id"] for it in found if "id" in it]).encode() or None


@asynccontextmanager
async def forwarding() -> AsyncIterator[tuple[InOrder, Producer]]:
    producer = Producer()
    ways = InOrder(producer.forward)
    try:
        yield ways, producer
    finally:
        await ways.close()


def sent(ways: InOrder, client: LocalConnection, body: bytes) -> asyncio.Task[bytes | None]:
    return asyncio.ensure_future(ways.forward(body, client, 0.0, waits=False))


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_comes_while_a_send_has_no_response_is_forwarded_together() -> None:
    async with forwarding() as (ways, producer):
        client = LocalConnection()
        bodies = [request(number, has_id=number != 2) for number in range(4)]
        tasks = [sent(ways, client, bodies[0])]
        await turns()
        tasks += [sent(ways, client, body) for body in bodies[1:]]
        await turns()
        assert producer.bodies == [bodies[0]]
        producer.respond.set()
        assert [await task for task in tasks] == [b"0", b"1", None, b"3"]
        assert producer.bodies == [bodies[0], b"[" + b",".join(bodies[1:]) + b"]"]
        # It has no place after those any more.
        assert await sent(ways, client, request(4)) == b"4"


async def test_each_is_forwarded_alone_if_all_are_rejected_together() -> None:
    async with forwarding() as (ways, producer):
        producer.batches = False
        client = LocalConnection()
        tasks = [sent(ways, client, request(number)) for number in range(3)]
        await turns()
        producer.respond.set()
        assert [await task for task in tasks] == [b"0", b"1", b"2"]
        assert producer.bodies[2:] == [request(1), request(2)]


async def test_nothing_is_forwarded_again_that_may_have_been_carried_out() -> None:
    async with forwarding() as (ways, producer):
        producer.drops_last = True
        client = LocalConnection()
        tasks = [sent(ways, client, request(number)) for number in range(3)]
        await turns()
        producer.respond.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results] == [
            bytes,
            ProducerUnavailable,
            ProducerUnavailable,
        ]
        assert len(producer.bodies) == 2


async def test_batches_and_long_requests_are_forwarded_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(in_order, "MAX_TOGETHER_BYTES", 2 * len(request(0)))
    monkeypatch.setattr(in_order, "MAX_TOGETHER", 3)
    async with forwarding() as (ways, producer):
        client = LocalConnection()
        batch = b"[" + request(7) + b"]"
        bodies = [request(0), batch, *(request(number) for number in range(1, 4))]
        tasks = [sent(ways, client, body) for body in bodies]
        await turns()
        producer.respond.set()
        assert [await task for task in tasks] == [b"0", b"[7]", b"1", b"2", b"3"]
        pair = b"[" + request(1) + b"," + request(2) + b"]"
        assert producer.bodies == [request(0), batch, pair, request(3)]
