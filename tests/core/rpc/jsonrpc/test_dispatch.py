"""Calling methods: at once, later, on other threads, and failing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import closing
from threading import Barrier, get_ident

import pytest

from entresol.offload import Offload
from entresol.rpc.jsonrpc.dispatch import Dispatcher, RequestLimits
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.threads.client_threads import ClientThreads
from entresol.server.handler import LocalConnection
from tests.support.example_namespace import Toy, caller, dispatch, request
from tests.support.polling import PATIENCE_SECONDS


def test_a_quick_method_responds_at_once() -> None:
    response = Dispatcher([Toy()]).handle(request("toy_chainId"), LocalConnection())
    assert response == b'{"jsonrpc":"2.0","id":1,"result":"0x10e"}'


def test_a_raw_result_is_spliced_as_it_is() -> None:
    response = dispatch(Dispatcher([Toy()]), request("toy_cached"))
    assert response == b'{"jsonrpc":"2.0","id":1,"result":{ "cached": 1.0 }}'


def test_an_offloaded_method_runs_on_another_thread() -> None:
    assert caller()(request("toy_thread", "x"))["result"] == ["x", False]
    assert caller()(request("toy_thread", "boom"))["error"]["code"] == -32602
    assert caller()(request("toy_thread"))["error"]["message"] == "params[0]: word is missing"


def test_a_method_may_decide_to_finish_on_another_thread() -> None:
    assert caller()(request("toy_maybeLater"))["result"] is True
    assert caller()(request("toy_maybeLater", params=[True]))["result"] is False


@pytest.mark.parametrize("word", ["now", "x" * 100_000])
def test_a_method_may_decide_to_respond_later_on_the_event_loop(word: str) -> None:
    class Slow:
        prefix = "slow"

        @method()
        def echo(self, word: str) -> str | Awaitable[str]:
            return word if word == "now" else self._later(word)

        async def _later(self, word: str) -> str:
            await asyncio.sleep(0)
            return word

    response = dispatch(Dispatcher([Slow()]), request("slow_echo", word))
    assert response is not None
    assert f'"{word}"'.encode() in response


def test_work_that_is_cancelled_under_a_request_is_an_error_and_not_no_response() -> None:
    """As by a reset of a fork: the threads of the chain so far end, and its requests have to be sent again."""

    class Cancelled:
        prefix = "cancelled"

        @method()
        async def work(self) -> str:
            work: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            work.cancel()
            return await work

    response = dispatch(Dispatcher([Cancelled()]), request("cancelled_work"))
    assert response is not None
    assert b"send the request again" in response


class Acknowledging:
    """Methods without a result, which is true for their clients."""

    prefix = "ack"
    acknowledges = True

    def __init__(self) -> None:
        self.ended: list[str] = []

    @method()
    def now(self) -> None:
        """End at once."""
        self.ended.append("now")

    @method()
    async def later(self) -> None:
        """End on the event loop."""
        await asyncio.sleep(0)
        self.ended.append("later")

    @method()
    def elsewhere(self) -> Offload[None]:
        """End on a thread."""
        return Offload(lambda: self.ended.append("elsewhere"))


@pytest.mark.parametrize("name", ["now", "later", "elsewhere"])
def test_what_is_acknowledged_has_ended(name: str) -> None:
    namespace = Acknowledging()
    response = dispatch(Dispatcher([namespace]), request(f"ack_{name}"))
    assert response is not None
    assert b'"result":true' in response
    assert namespace.ended == [name]


def test_offloaded_calls_of_a_batch_run_beside_each_other() -> None:
    class Meeting:
        prefix = "meeting"
        barrier = Barrier(3, timeout=PATIENCE_SECONDS)

        @method()
        def meet(self) -> Offload[int]:
            """Wait for two others."""
            return Offload(self._met)

        def _met(self) -> int:
            self.barrier.wait()
            return get_ident()

    with closing(ClientThreads(4)) as threads:
        dispatcher = Dispatcher([Meeting()], threads=threads)
        response = dispatch(dispatcher, b"[" + b",".join([request("meeting_meet")] * 3) + b"]")
    assert response is not None
    assert response.count(b"result") == 3


@pytest.mark.parametrize("name", ["toy_fail", "toy_wait"])
def test_an_unexpected_exception_is_logged_and_hidden(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        error = caller()(request(name, "boom"))["error"]
    assert (error["code"], error["message"]) == (-32603, "Internal error")
    assert error["data"] in caplog.text
    assert "RuntimeError" in caplog.text
    assert "boom" not in str(error)


@pytest.mark.parametrize(
    ("params", "message", "data"),
    [(["0x"], "execution reverted", "0x"), (["0x01", "no"], "execution reverted: no", "0x01")],
)
def test_a_revert_always_has_data(params: list[str], message: str, data: str) -> None:
    error = caller()(request("toy_revert", *params))["error"]
    assert error == {"code": 3, "message": message, "data": data}


def test_a_long_response_is_rejected() -> None:
    send = caller(limits=RequestLimits(response_bytes=100))
    fits = 100 - len(b'{"jsonrpc":"2.0","id":1,"result":""}')
    assert len(send(request("toy_long", fits))["result"]) == fits
    error = send(request("toy_long", fits + 1))["error"]
    assert error == {
        "code": -32008,
        "message": "Response is too big",
        "data": "Exceeded max limit of 100",
    }


@pytest.mark.parametrize("name", ["toy_long", "toy_thread"])
def test_the_results_of_a_batch_have_a_limit_together(name: str) -> None:
    send = caller(limits=RequestLimits(response_bytes=1000))
    params = [200] if name == "toy_long" else ["x" * 200]
    item = request(name, *params)
    assert len(send(b"[" + b",".join([item] * 3) + b"]")) == 3
    response = send(b"[" + b",".join([item] * 9) + b"]")
    assert response["error"]["code"] == -32011
    assert response["id"] is None


def test_calls_are_counted() -> None:
    dispatcher = Dispatcher([Toy()])
    for body in [request("toy_chainId")] * 2 + [request("toy_fail", "nonce"), b"?"]:
        dispatcher.handle(body, LocalConnection())
    dispatch(dispatcher, request("toy_thread", "x"))
    text = dispatcher.metrics.render()
    assert 'entresol_rpc_seconds_count{method="toy_chainId"} 2\n' in text
    assert 'entresol_rpc_seconds_count{method="toy_thread"} 1\n' in text
    assert 'entresol_rpc_errors_total{method="toy_fail",code="-32000"} 1\n' in text
    assert 'entresol_rpc_errors_total{method="(refused)",code="-32700"} 1\n' in text
    assert 'entresol_rpc_seconds_bucket{method="toy_chainId",le="+Inf"} 2\n' in text
    assert "toy_getBalance" not in text
