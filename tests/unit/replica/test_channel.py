"""The socket between a replica and its producer: calls, messages, deadlines, ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from entresol.errors import ProducerUnavailable
from entresol.replica.channel import MAX_CALLS, Answer, Channel


class Peer:
    """Answers as the payload says."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.bugs: list[BaseException] = []
        self.cancelled = asyncio.Event()
        self.closed = asyncio.Event()
        self.in_progress = 0
        self.most_in_progress = 0

    def on_call(self, payload: bytes) -> Answer:
        match payload:
            case b"never":
                return self._never()
            case b"none":
                return None
            case b"bug":
                raise ValueError("a bug")
            case b"later bug":
                return self._bug()
        return payload.upper()

    def on_message(self, payload: bytes) -> None:
        self.messages.append(payload)

    def on_close(self) -> None:
        self.closed.set()

    async def _never(self) -> bytes:
        self.in_progress += 1
        self.most_in_progress = max(self.in_progress, self.most_in_progress)
        try:
            await asyncio.Event().wait()
        finally:
            self.in_progress -= 1
            self.cancelled.set()
        return b""

    async def _bug(self) -> bytes:
        await asyncio.sleep(0)
        raise ValueError("a bug")


def run(test: Callable[[Channel, Channel, Peer], Awaitable[None]]) -> Peer:
    """Run a test with both ends of a channel; the peer is that of the second."""

    async def main() -> Peer:
        ends = socket.socketpair()
        ours, theirs = Peer(), Peer()
        first = await Channel.open(ends[0], ours, on_bug=ours.bugs.append)
        second = await Channel.open(ends[1], theirs, on_bug=theirs.bugs.append)
        await test(first, second, theirs)
        first.close()
        await theirs.closed.wait()
        return theirs

    return asyncio.run(main())


def test_calls_and_messages_go_both_ways() -> None:
    async def test(first: Channel, second: Channel, peer: Peer) -> None:
        assert await first.call(b"x") == b"X"
        assert await second.call(b"y") == b"Y"
        assert await first.call(b"none") is None
        first.send(b"message")
        assert await first.call(b"") == b""
        assert peer.messages == [b"message"]

    run(test)


def test_a_long_payload_arrives_whole() -> None:
    async def test(first: Channel, _second: Channel, _peer: Peer) -> None:
        assert await first.call(b"a" * (1 << 22)) == b"A" * (1 << 22)

    run(test)


def test_many_calls_wait_for_their_turn() -> None:
    async def test(first: Channel, _second: Channel, _peer: Peer) -> None:
        calls = [first.call(b"%d" % it) for it in range(2 * MAX_CALLS)]
        assert await asyncio.gather(*calls) == [b"%d" % it for it in range(2 * MAX_CALLS)]

    run(test)


def test_a_call_without_a_response_in_time_fails_and_is_cancelled() -> None:
    async def test(first: Channel, _second: Channel, peer: Peer) -> None:
        with pytest.raises(ProducerUnavailable, match=r"did not respond in 0\.05 seconds"):
            await first.call(b"never", 0.05)
        await peer.cancelled.wait()

    run(test)


def test_calls_in_progress_are_bounded() -> None:
    async def test(first: Channel, _second: Channel, peer: Peer) -> None:
        calls = [asyncio.ensure_future(first.call(b"never", 0.5)) for _ in range(MAX_CALLS + 10)]
        await asyncio.gather(*calls, return_exceptions=True)
        assert peer.most_in_progress == MAX_CALLS

    run(test)


def test_the_end_of_the_other_side_ends_calls() -> None:
    async def test(first: Channel, second: Channel, _peer: Peer) -> None:
        call = asyncio.ensure_future(first.call(b"never"))
        await asyncio.sleep(0)
        second.close()
        with pytest.raises(ProducerUnavailable, match="has ended"):
            await call
        with pytest.raises(ProducerUnavailable, match="has ended"):
            await first.call(b"x")

    run(test)


@pytest.mark.parametrize("payload", [b"bug", b"later bug"])
def test_a_bug_is_reported_where_it_is(payload: bytes) -> None:
    async def test(first: Channel, _second: Channel, peer: Peer) -> None:
        with pytest.raises(ProducerUnavailable, match="has logged why"):
            await first.call(payload)
        assert [str(it) for it in peer.bugs] == ["a bug"]

    run(test)
