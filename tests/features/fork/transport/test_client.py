"""Requests to a remote that is slow, limited, hostile or gone."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import msgspec
import pytest

from entresol.errors import (
    RemoteFailed,
    RemoteMalformed,
    RemoteRejected,
    RemoteTimeout,
    RemoteUnreachable,
)
from entresol.features.fork.remote_chain import RemoteChain
from entresol.features.fork.transport import client
from entresol.features.fork.transport.client import Attempts, ClientThread, Patience
from entresol.features.fork.transport.endpoints import Endpoints
from entresol.l1.json_rpc_client import PostResponse
from tests.support.fork import faults
from tests.support.fork.faults import Fault, error_of
from tests.support.fork.remote_node import ACCOUNT, BLOCKS, RemoteNode, problem, read, wanted
from tests.support.polling import PATIENCE_SECONDS

TIMEOUT = 30.0
LIMITED = "HTTP status 429, which asks to wait for 3600 seconds"


class Time:
    """A clock, and the requests to a remote of one URL by it."""

    def __init__(self) -> None:
        self.now = 100.0
        self._endpoints = Endpoints(["https://a.example"], timeout=TIMEOUT, clock=self._clock)

    def attempts(self) -> Attempts:
        patience = Patience(
            retries=2, timeout=TIMEOUT, backoff=1.0, clock=self._clock, sleep=self._sleep
        )
        return Attempts(self._endpoints, patience, "eth_getBalance", 0)

    def limit(self) -> Attempts:
        """Send a request that the remote rejects for an hour; return its attempts."""
        attempts = self.attempts()
        endpoint, _ = asyncio.run(attempts.next())
        attempts.rate_limited(endpoint, 3_600.0, LIMITED)
        return attempts

    def _clock(self) -> float:
        return self.now

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


def test_a_remote_that_wants_an_hour_of_rest_has_it_for_the_timeout(time: Time) -> None:
    time.limit()
    time.now += 10.0
    _, seconds = asyncio.run(time.attempts().next())
    assert (time.now, seconds) == (100.0 + TIMEOUT, TIMEOUT)


@pytest.mark.parametrize("is_first", [True, False], ids=["rejected", "behind it"])
def test_a_request_whose_time_a_rate_limit_outlasts_fails_at_once_and_says_so(
    time: Time, is_first: bool
) -> None:
    attempts = time.limit()
    with pytest.raises(RemoteRejected, match="429, which asks to wait for 3600 seconds"):
        asyncio.run((attempts if is_first else time.attempts()).next())
    assert time.now == 100.0


async def nothing() -> None:
    """Do nothing."""


async def never() -> None:
    """Wait without end."""
    await asyncio.Event().wait()


def test_what_is_begun_while_it_stops_is_rejected_and_never_hangs() -> None:
    thread = ClientThread("test")
    stopping, go_on = threading.Event(), threading.Event()

    async def last() -> None:
        stopping.set()
        await asyncio.to_thread(go_on.wait)

    stopper = threading.Thread(target=thread.stop, args=(last(),))
    stopper.start()
    assert stopping.wait(PATIENCE_SECONDS)
    with pytest.raises(RuntimeError, match="is stopped"):
        thread.begin(nothing())
    assert not thread.soon(lambda: None)
    go_on.set()
    stopper.join()
    thread.stop(nothing())


def test_what_runs_is_cancelled_with_all_that_it_begins() -> None:
    thread = ClientThread("test")
    started = threading.Event()
    begun: list[asyncio.Task[None]] = []

    async def forever() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            begun.append(asyncio.get_running_loop().create_task(never()))

    future = thread.begin(forever())
    assert started.wait(PATIENCE_SECONDS)
    thread.stop(nothing())
    with contextlib.suppress(CancelledError):
        future.result(0)
    assert future.cancelled()
    assert begun[0].cancelled()


@pytest.mark.parametrize(
    "fault",
    [
        faults.too_many_requests(),
        faults.too_many_requests("0"),
        faults.rejected(-32005, "limit exceeded"),
        faults.rejected(-32007, "50/second request limit reached"),
        faults.rejected(-32000, "Your app has exceeded its compute units per second capacity"),
        faults.dropped,
        faults.truncated,
        faults.status(502),
        faults.body_of(b"<html>", "text/html"),
    ],
    ids=["429", "Retry-After", "-32005", "-32007", "text", "drop", "cut", "502", "html"],
)
def test_a_remote_that_fails_for_a_moment_is_asked_again(
    node: RemoteNode, remote: RemoteChain, fault: Fault
) -> None:
    node.proxy.faults.extend([fault, fault])
    assert wanted(remote.table, [ACCOUNT]) is None
    assert node.proxy.posts == 3


def test_members_of_a_batch_that_were_limited_are_asked_for_alone(node: RemoteNode) -> None:
    node.proxy.not_served("eth_getProof")
    with node.fork() as remote:
        limited = iter([error_of(-32005, "too many requests")] * 3)

        def lie(params: list[Any], result: Any) -> Any:
            del params
            node.proxy.errors.pop("eth_getBalance", None)
            return result

        node.proxy.lies["eth_getTransactionCount"] = lie
        node.proxy.errors["eth_getBalance"] = next(limited)
        assert wanted(remote.table, [ACCOUNT]) is None
        assert node.proxy.methods["eth_getBalance"] == 2
        assert node.proxy.methods["eth_getCode"] == 1


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        (faults.huge(40 << 20), RemoteFailed, "more than"),
        (faults.deep_json(100_000), RemoteFailed, "nested too deeply"),
        (faults.body_of(b'{"jsonrpc":"2.0","id":1}'), RemoteMalformed, "batch has one response"),
        (faults.body_of(b"[]"), RemoteMalformed, "3 of 3 responses are missing"),
        (faults.body_of(b"[1,2,3]"), RemoteMalformed, "not JSON-RPC"),
        (faults.body_of(b"[{},{},{}]"), RemoteMalformed, "an id of no request"),
        (faults.status(307, Location="http://127.0.0.1:1/"), RemoteRejected, "not followed"),
        (faults.stalled, RemoteTimeout, "eth_getBalance"),
    ],
    ids=["huge", "deep", "object", "empty", "numbers", "blank", "redirect", "silence"],
)
def test_what_is_no_response_is_an_error_that_names_host_and_problem(
    node: RemoteNode, fault: Fault, kind: type[RemoteFailed], text: str
) -> None:
    with node.fork(timeout=1.0) as remote:
        node.proxy.fault = fault
        said = problem(remote.table, [ACCOUNT], kind)
        assert node.proxy.url in said
        assert text in said


def test_a_remote_that_is_gone_is_an_error_that_names_host_and_method(
    node: RemoteNode, remote: RemoteChain
) -> None:
    node.proxy.fault = faults.dropped
    text = problem(remote.table, [ACCOUNT], RemoteUnreachable)
    assert node.proxy.url in text
    assert "eth_getBalance" in text
    # It is not remembered: the next read asks again.
    node.proxy.fault = None
    assert wanted(remote.table, [ACCOUNT]) is None


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":-1,"result":"%b"}',
        b'{"jsonrpc":"2.0","id":-1,"error":{"code":-32000,"message":"%b"}}',
        b'[{"id":-1,"result":"%b"}]',
        b"<%b>",
        b"\xff%b",
    ],
    ids=["id", "error", "members", "html", "bytes"],
)
def test_an_error_does_not_keep_what_the_remote_responded(node: RemoteNode, body: bytes) -> None:
    """It may be kept for long, and by many."""
    with node.fork(retries=0) as remote:
        node.proxy.fault = faults.body_of(body % (b"1" * 100_000))
        failure: BaseException | None = _failure(remote)
        while failure is not None:
            assert max(_sizes_in_frames(failure), default=0) < 100_000
            failure = failure.__context__


def test_other_ids_than_those_of_the_requests_are_malformed(
    node: RemoteNode, remote: RemoteChain
) -> None:
    node.proxy.wrong_ids = True
    failure = wanted(remote.table, [ACCOUNT])
    assert isinstance(failure, RemoteMalformed)
    with pytest.raises(RemoteMalformed, match="another id"):
        read(remote, "eth_blockNumber")


@pytest.mark.parametrize(
    "body",
    [b"", b"no", b'{"message": "no such key"}', b'{"error": "no such key"}', b"[7]"],
    ids=str,
)
def test_a_gateway_that_rejects_the_key_is_an_error_with_its_status(
    node: RemoteNode, remote: RemoteChain, body: bytes
) -> None:
    node.proxy.fault = faults.status(403, body.decode())
    for failure in (wanted(remote.table, [ACCOUNT]), _failure(remote)):
        assert isinstance(failure, RemoteRejected)
        assert "403" in str(failure) or "no such key" in str(failure)
    assert node.proxy.posts == 2


def _sizes_in_frames(error: BaseException) -> Iterator[int]:
    """Yield how long the values are that frames of an error hold."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for value in frame.f_locals.values():
            held = value.body if isinstance(value, PostResponse) else value
            if isinstance(held, bytes | bytearray | str | msgspec.Raw):
                yield len(bytes(held, "utf-8") if isinstance(held, str) else bytes(held))


def _failure(remote: RemoteChain) -> BaseException | None:
    with pytest.raises(RemoteFailed) as raised:
        read(remote, "eth_blockNumber")
    return raised.value


def test_requests_that_wait_for_a_remote_are_bounded(
    node: RemoteNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_REQUESTS", 20)

    async def flood(remote: RemoteChain) -> list[object]:
        reads = (remote.read("eth_blockNumber", []) for _ in range(30))
        return await asyncio.gather(*reads, return_exceptions=True)

    with node.fork() as remote:
        node.proxy.latency = 0.2
        rejected = [it for it in asyncio.run(flood(remote)) if isinstance(it, RemoteUnreachable)]
        assert len(rejected) == 10
        assert "20 requests wait" in str(rejected[0])
        node.proxy.latency = 0.0
        assert read(remote, "eth_blockNumber") == hex(BLOCKS)


def test_requests_behind_others_that_get_no_response_wait_no_longer_than_those(
    node: RemoteNode,
) -> None:
    async def flood(remote: RemoteChain) -> list[object]:
        reads = (remote.read("eth_getBalance", [hex(it), "latest"]) for it in range(160))
        return await asyncio.gather(*reads, return_exceptions=True)

    with node.fork(timeout=0.5) as remote:
        node.proxy.fault = faults.stalled
        node.proxy.forget()
        outcomes = asyncio.run(flood(remote))
        assert {type(outcome) for outcome in outcomes} == {RemoteTimeout}
        assert any("requests wait before it" in str(outcome) for outcome in outcomes)
        # Not ten times as many requests as may be under way.
        assert node.proxy.posts <= 4 * client.IN_FLIGHT
        node.proxy.fault = None
        assert read(remote, "eth_blockNumber") == hex(BLOCKS)
