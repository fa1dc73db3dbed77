"""An L1 behind a URL that is slow, busy, broken or away; a real server answers as the test tells it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

from entresol.errors import ExecutionReverted, LayerOneFailed, LayerOneRejected, LayerOneUnreachable
from entresol.l1.remote import RemoteLayerOne
from entresol.primitives.values import Address, Hash32

CONTRACT = Address(b"\x11" * 20)

Answer = web.Response | dict[str, Any] | object


class Provider:
    """Answers requests, in turn by `answers`, or else by `respond`."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.respond: Callable[[str, list[Any]], Answer] = lambda _method, _params: "0x1"
        self.asked: list[tuple[str, list[Any]]] = []
        self.pauses: list[float] = []

    async def handle(self, request: web.Request) -> web.Response:
        call = msgspec.json.decode(await request.read())
        self.asked.append((call["method"], call["params"]))
        if self.answers:
            answer = self.answers.pop(0)
        else:
            answer = self.respond(call["method"], call["params"])
        if isinstance(answer, web.Response):
            return answer
        body = answer if isinstance(answer, dict) and "error" in answer else {"result": answer}
        return web.Response(body=msgspec.json.encode({"jsonrpc": "2.0", "id": 1} | body))

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    @asynccontextmanager
    async def serve(self, path: str = "/", **options: Any) -> AsyncIterator[RemoteLayerOne]:
        app = web.Application()
        app.router.add_post(path.partition("?")[0], self.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        settlement_layer = web.TCPSite(runner, "127.0.0.1", 0)
        await settlement_layer.start()
        host, port = runner.addresses[0][:2]
        l1 = RemoteLayerOne(f"http://{host}:{port}{path}", sleep=self.pause, **options)
        try:
            yield l1
        finally:
            await l1.close()
            await runner.cleanup()


def run(provider: Provider, ask: Callable[[RemoteLayerOne], Awaitable[Any]], **options: Any) -> Any:
    async def whole() -> Any:
        async with provider.serve(**options) as l1:
            return await ask(l1)

    return asyncio.run(whole())


def error(code: int, message: str, data: object = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "data": data}}


@pytest.mark.parametrize(
    "trouble",
    [
        web.Response(status=429, text="slow down"),
        web.Response(status=503),
        web.Response(status=500, text="oops"),
        web.Response(text="<html>not json</html>"),
        web.Response(text="[1]"),
        error(-32005, "rate limit exceeded"),
    ],
)
def test_it_asks_again_and_waits_longer_each_time(trouble: Answer) -> None:
    provider = Provider()
    # Another response for each attempt: one cannot be sent twice.
    second = trouble if isinstance(trouble, dict) else web.Response(status=502)
    provider.answers = [trouble, second, "0x7"]
    assert run(provider, lambda l1: l1.block_number()) == 7
    assert provider.pauses == [0.1, 0.2]


def test_it_gives_up_after_some_attempts_and_says_where_and_why() -> None:
    provider = Provider()
    provider.respond = lambda _method, _params: web.Response(status=503)
    with pytest.raises(LayerOneUnreachable, match=r"http://127.*HTTP status 503"):
        run(provider, lambda l1: l1.chain_id(), attempts=3)
    assert len(provider.asked) == 3


def test_an_answer_that_takes_too_long_is_none() -> None:
    async def scenario() -> None:
        never = asyncio.Event()

        class Hanging(Provider):
            async def handle(self, request: web.Request) -> web.Response:
                await never.wait()
                return await super().handle(request)

        async with Hanging().serve(attempts=2, timeout=0.02) as l1:
            with pytest.raises(LayerOneUnreachable, match=r"no response in 0\.02 seconds"):
                await l1.block_number()
            never.set()

    asyncio.run(scenario())


def test_where_nobody_listens_it_is_unreachable() -> None:
    async def scenario() -> None:
        provider = Provider()
        async with provider.serve() as l1:
            url = l1.name
        gone = RemoteLayerOne(url, attempts=2, sleep=provider.pause)
        with pytest.raises(LayerOneUnreachable, match="cannot be reached"):
            await gone.chain_id()
        await gone.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (web.Response(status=503), "HTTP status 503"),
        (web.Response(status=307, headers={"Location": "ftp://l1.example/v2/sesame"}), "ftp://"),
        (web.Response(text="no JSON for /v2/sesame"), "without JSON"),
        (error(-32005, "key open of /v2/sesame is used too often"), "used too often"),
        (error(-32600, "project sesame is unknown"), "project … is unknown"),
        ({"error": "no project sesame"}, "no project …"),
    ],
)
def test_a_key_in_the_url_is_used_but_never_told(trouble: Answer, told: str) -> None:
    provider = Provider()
    provider.answers = ["0x7", trouble]
    path = "/v2/sesame?key=opensesame"

    async def ask(l1: RemoteLayerOne) -> None:
        assert await l1.block_number() == 7
        with pytest.raises(LayerOneFailed) as failure:
            await l1.chain_id()
        assert told in str(failure.value)
        for text in (str(failure.value), repr(failure.value.args), l1.name):
            assert "sesame" not in text

    run(provider, ask, path=path, attempts=1)


def test_a_range_that_is_too_wide_is_asked_for_in_halves() -> None:
    provider = Provider()

    def respond(_method: str, params: list[Any]) -> Answer:
        first, last = int(params[0]["fromBlock"], 16), int(params[0]["toBlock"], 16)
        if last - first >= 3:
            return error(-32005, "query returned more than 10000 results")
        return [log_at(number) for number in range(first, last + 1)]

    provider.respond = respond
    found = run(provider, lambda l1: l1.logs(CONTRACT, [Hash32.zero()], 5, 24))
    assert [log.block_number for log in found] == list(range(5, 25))
    assert provider.pauses == []


def test_the_range_that_was_answered_is_asked_for_the_next_time() -> None:
    provider = Provider()

    def respond(_method: str, params: list[Any]) -> Answer:
        span = int(params[0]["toBlock"], 16) - int(params[0]["fromBlock"], 16) + 1
        return error(-32602, "block range too large") if span > 4 else []

    provider.respond = respond

    async def twice(l1: RemoteLayerOne) -> int:
        await l1.logs(CONTRACT, [], 0, 15)
        before = len(provider.asked)
        await l1.logs(CONTRACT, [], 16, 31)
        return len(provider.asked) - before

    assert run(provider, twice) == 4


def test_a_range_that_was_too_wide_once_grows_back() -> None:
    provider = Provider()
    crowded = range(100)

    def respond(_method: str, params: list[Any]) -> Answer:
        first, last = int(params[0]["fromBlock"], 16), int(params[0]["toBlock"], 16)
        return error(-32005, "more than 1 result") if first in crowded and first < last else []

    provider.respond = respond

    async def ask(l1: RemoteLayerOne) -> int:
        await l1.logs(CONTRACT, [], 0, 199_999)
        before = len(provider.asked)
        await l1.logs(CONTRACT, [], 200_000, 209_999)
        return len(provider.asked) - before

    assert run(provider, ask) == 1


@pytest.mark.parametrize(
    ("code", "message"),
    [(-32601, "the method eth_getLogs does not exist"), (-32000, "header not found")],
)
def test_a_rejection_that_is_not_about_the_range_does_not_narrow_it(
    code: int, message: str
) -> None:
    provider = Provider()

    async def ask(l1: RemoteLayerOne) -> None:
        provider.answers = [error(code, message)]
        with pytest.raises(LayerOneRejected, match=message):
            await l1.logs(CONTRACT, [], 0, 9_999)
        provider.asked.clear()
        provider.answers = [[]]
        await l1.logs(CONTRACT, [], 0, 9_999)
        assert len(provider.asked) == 1

    run(provider, ask)


def test_a_node_that_is_away_or_busy_does_not_narrow_the_range() -> None:
    provider = Provider()
    provider.answers = [
        web.Response(status=503),
        error(-32005, "daily request count exceeded, request rate limited"),
        error(429, "Too Many Requests"),
        [],
    ]
    assert run(provider, lambda l1: l1.logs(CONTRACT, [], 0, 9_999)) == []
    assert {params[0]["toBlock"] for _, params in provider.asked} == {hex(9_999)}
    assert provider.pauses == [0.1, 0.2, 0.4]


def test_a_single_block_that_is_rejected_is_an_error() -> None:
    provider = Provider()
    provider.respond = lambda _method, _params: error(-32005, "range is too wide")
    with pytest.raises(LayerOneRejected, match="range is too wide"):
        run(provider, lambda l1: l1.logs(CONTRACT, [], 0, 9))


@pytest.mark.parametrize("text", ["already known", "AlreadyKnown: already imported"])
def test_a_transaction_that_is_known_was_sent(text: str) -> None:
    provider = Provider()
    provider.answers = [web.Response(status=502), error(-32000, text)]
    sent = run(provider, lambda l1: l1.send(b"raw"))
    assert len(sent) == 32


def test_a_transaction_that_is_in_a_block_was_sent_whatever_the_node_says_now() -> None:
    receipt = {
        "transactionHash": str(Hash32.zero()),
        "blockNumber": "0x5",
        "blockHash": str(Hash32.zero()),
        "status": "0x1",
        "gasUsed": "0x1",
    }
    provider = Provider()
    provider.answers = [web.Response(status=502), error(-32000, "nonce too low"), receipt]
    assert len(run(provider, lambda l1: l1.send(b"raw"))) == 32


@pytest.mark.parametrize(
    ("answer", "reason", "data"),
    [
        (error(3, "execution reverted: no", "0x1234"), "no", b"\x12\x34"),
        (error(-32000, "execution reverted"), None, b""),
        (error(3, "execution reverted", {"odd": 1}), None, b""),
    ],
)
def test_reverts_are_told_with_what_the_node_says(
    answer: Answer, reason: str | None, data: bytes
) -> None:
    provider = Provider()
    provider.answers = [answer]
    with pytest.raises(ExecutionReverted) as raised:
        run(provider, lambda l1: l1.call(CONTRACT, b""))
    assert raised.value.data == data
    assert str(raised.value).endswith(reason or "reverted")


ASK: dict[str, Callable[[RemoteLayerOne], Awaitable[Any]]] = {
    "block number": lambda l1: l1.block_number(),
    "block": lambda l1: l1.block(1),
    "logs": lambda l1: l1.logs(CONTRACT, [], 0, 0),
    "receipt": lambda l1: l1.receipt(Hash32.zero()),
    "code": lambda l1: l1.code(CONTRACT),
}


@pytest.mark.parametrize("question", sorted(ASK))
@pytest.mark.parametrize("answer", [7, "nonsense", {"blockNumber": "0x1"}, [{}], ["0x1"]])
def test_an_answer_of_another_kind_is_rejected_by_name(question: str, answer: object) -> None:
    provider = Provider()
    provider.respond = lambda _method, _params: answer
    with pytest.raises(LayerOneRejected, match="unexpected response"):
        run(provider, ASK[question])


@pytest.mark.parametrize("trouble", ["no such key", ["no such key"], {"code": "no such key"}])
def test_an_error_of_another_form_is_told_as_it_is(trouble: object) -> None:
    provider = Provider()
    provider.answers = [{"error": trouble}]
    with pytest.raises(LayerOneRejected, match="no such key"):
        run(provider, lambda l1: l1.chain_id())


def test_a_node_without_a_tip_of_its_own_gets_the_usual_one() -> None:
    provider = Provider()
    head = {
        "number": "0x1",
        "hash": str(Hash32.zero()),
        "parentHash": str(Hash32.zero()),
        "timestamp": "0x1",
        "baseFeePerGas": "0x7",
    }
    provider.answers = [head, error(-32601, "method not found")]
    fees = run(provider, lambda l1: l1.fees())
    assert (fees.base_fee, fees.tip) == (7, 10**9)


def log_at(number: int) -> dict[str, Any]:
    return {
        "address": str(CONTRACT),
        "topics": [str(Hash32.zero())],
        "data": "0x",
        "blockNumber": hex(number),
        "blockHash": str(Hash32.zero()),
        "transactionHash": str(Hash32.zero()),
        "logIndex": "0x0",
    }
