"""A remote L1 that is slow, overloaded, broken or unreachable, played by a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

from entresol._native import keccak256
from entresol.errors import (
    ExecutionReverted,
    LayerOneFailed,
    LayerOneMalformed,
    LayerOneRejected,
    LayerOneUnreachable,
)
from entresol.l1 import json_rpc_client
from entresol.l1.json_rpc_client import MAX_READ_BYTES, exceeds_range_limit
from entresol.l1.remote_layer_one import MAX_RANGE, SUCCESSES_TO_GROW, LogRange, RemoteLayerOne
from entresol.primitives.values import Address, Hash32

TOO_WIDE = LayerOneRejected("eth_getLogs", -32602, "block range too large")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32005, "query returned more than 10000 results. Try with this block range [0x1, 0x2]."),
        (-32602, "Log response size exceeded. You can make eth_getLogs requests with up to a 2K range"),
        (-32600, "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range"),
        (-32614, "eth_getLogs is limited to a 10,000 range"),
        (-32000, "requested too many blocks from 0 to 9999, maximum is set to 2048"),
        (-32047, "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800"),
        (-32602, "exceed maximum block range: 5000"),
        (-32602, "query exceeds max results 20000, retry with the range 1-5"),
        (-32005, "Requested range exceeds maximum range limit"),
        (-32000, "backend response too large"),
        (-32000, "query timeout exceeded"),
        (-32002, "request timed out"),
        (35, "ranges over 10000 blocks are not supported on freetier"),
    ],
)  # fmt: skip
def test_errors_about_the_range_are_recognised(code: int, message: str) -> None:
    assert exceeds_range_limit(code, message)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32005, "rate limit exceeded"),
        (-32005, "daily request count exceeded, request rate limited"),
        (429, "Your app has exceeded its compute units per second capacity."),
        (-32601, "the method eth_getLogs does not exist/is not available"),
        (-32000, "header not found"),
        (-32000, "invalid block range params"),
        (0, "Must be authenticated!"),
    ],
)
def test_other_errors_are_not_about_the_range(code: int, message: str) -> None:
    assert not exceeds_range_limit(code, message)


def test_the_range_halves_after_a_rejection_and_doubles_after_some_successes() -> None:
    width = LogRange()
    width.on_rejection(MAX_RANGE, TOO_WIDE)
    width.on_rejection(MAX_RANGE // 2, TOO_WIDE)
    assert width.blocks == MAX_RANGE // 4
    for _ in range(SUCCESSES_TO_GROW - 1):
        width.on_success(width.blocks)
    assert width.blocks == MAX_RANGE // 4
    width.on_success(width.blocks)
    assert width.blocks == MAX_RANGE // 2


def test_successes_with_a_narrower_range_do_not_count() -> None:
    width = LogRange()
    width.on_rejection(100, TOO_WIDE)
    for _ in range(10 * SUCCESSES_TO_GROW):
        width.on_success(49)
    assert width.blocks == 50


def test_the_range_never_exceeds_the_maximum() -> None:
    width = LogRange()
    width.on_rejection(2 * 6_000, TOO_WIDE)
    for _ in range(3 * SUCCESSES_TO_GROW):
        width.on_success(width.blocks)
    assert width.blocks == MAX_RANGE


def test_a_rejection_that_a_narrower_range_cannot_avoid_is_raised() -> None:
    with pytest.raises(LayerOneRejected, match="too large"):
        LogRange().on_rejection(1, TOO_WIDE)


CONTRACT = Address(b"\x11" * 20)

ProviderResponse = web.Response | dict[str, Any] | object


class Provider:
    """Responds with `responses` in turn, then by `respond`."""

    def __init__(self) -> None:
        self.responses: list[ProviderResponse] = []
        self.respond: Callable[[str, list[Any]], ProviderResponse] = lambda _method, _params: "0x1"
        self.requests: list[tuple[str, list[Any]]] = []
        self.delays: list[float] = []

    async def handle(self, request: web.Request) -> web.Response:
        call = msgspec.json.decode(await request.read())
        self.requests.append((call["method"], call["params"]))
        if self.responses:
            response = self.responses.pop(0)
        else:
            response = self.respond(call["method"], call["params"])
        if isinstance(response, web.Response):
            return response
        body = (
            response if isinstance(response, dict) and "error" in response else {"result": response}
        )
        return web.Response(body=msgspec.json.encode({"jsonrpc": "2.0", "id": 1} | body))

    async def pause(self, seconds: float) -> None:
        self.delays.append(seconds)

    @asynccontextmanager
    async def serve(self, path: str = "/", **options: Any) -> AsyncIterator[RemoteLayerOne]:
        app = web.Application()
        app.router.add_post(path.partition("?")[0], self.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        l1 = RemoteLayerOne(f"http://{host}:{port}{path}", sleep=self.pause, **options)
        try:
            yield l1
        finally:
            await l1.close()
            await runner.cleanup()


def run(
    provider: Provider, request: Callable[[RemoteLayerOne], Awaitable[Any]], **options: Any
) -> Any:
    async def whole() -> Any:
        async with provider.serve(**options) as l1:
            return await request(l1)

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
        web.Response(body=b'{"result":"\xff"}'),
        web.Response(text='{"result":1e99999}'),
        web.Response(text='{"result":' + "[" * 200_000 + "]" * 200_000 + "}"),
        error(-32005, "rate limit exceeded"),
    ],
)
def test_a_failed_request_is_retried_with_increasing_delays(trouble: ProviderResponse) -> None:
    provider = Provider()
    # Another response for each attempt: one cannot be sent twice.
    second = trouble if isinstance(trouble, dict) else web.Response(status=502)
    provider.responses = [trouble, second, "0x7"]
    assert run(provider, lambda l1: l1.block_number()) == 7
    assert provider.delays == [0.1, 0.2]


@pytest.mark.parametrize(
    "text",
    [
        *("header not found", "Resource not found", "unknown block", "block 0x11…11 not found"),
        "Block with such an ID doesn't exist yet",
    ],
)
def test_a_block_that_one_node_does_not_have_yet_is_requested_again(text: str) -> None:
    provider = Provider()
    provider.responses = [error(-32000, text), "0x5"]
    assert run(provider, lambda l1: l1.nonce(CONTRACT, Hash32(b"\x11" * 32))) == 5
    assert provider.delays == [0.1]
    provider.responses = [error(-32000, text)] * 5
    with pytest.raises(LayerOneRejected, match=text):
        run(provider, lambda l1: l1.nonce(CONTRACT, Hash32(b"\x11" * 32)))


def test_it_is_unreachable_after_the_last_attempt_with_url_and_reason() -> None:
    provider = Provider()
    provider.respond = lambda _method, _params: web.Response(status=503)
    with pytest.raises(LayerOneUnreachable, match=r"http://127.*HTTP status 503"):
        run(provider, lambda l1: l1.chain_id(), attempts=3)
    assert len(provider.requests) == 3


async def test_a_response_after_the_timeout_is_ignored() -> None:
    never = asyncio.Event()

    class Hanging(Provider):
        async def handle(self, request: web.Request) -> web.Response:
            await never.wait()
            return await super().handle(request)

    async with Hanging().serve(attempts=2, timeout=0.02) as l1:
        with pytest.raises(LayerOneUnreachable, match=r"no response in 0\.02 seconds"):
            await l1.block_number()
        never.set()


async def test_a_closed_port_is_unreachable() -> None:
    provider = Provider()
    async with provider.serve() as l1:
        url = l1.name
    gone = RemoteLayerOne(url, attempts=2, sleep=provider.pause)
    with pytest.raises(LayerOneUnreachable, match="cannot be reached"):
        await gone.chain_id()
    await gone.close()


@pytest.mark.parametrize(
    ("trouble", "shown"),
    [
        (web.Response(status=503), "HTTP status 503"),
        (web.Response(status=307, headers={"Location": "ftp://l1.example/v2/sesame"}), "ftp://"),
        (web.Response(text="no JSON for /v2/sesame"), "without JSON"),
        (error(-32005, "key open of /v2/sesame is used too often"), "used too often"),
        (error(-32600, "project sesame is unknown"), "project … is unknown"),
        ({"error": "no project sesame"}, "no project …"),
    ],
)
def test_a_key_in_the_url_is_used_but_redacted_in_messages(
    trouble: ProviderResponse, shown: str
) -> None:
    provider = Provider()
    provider.responses = ["0x7", trouble]
    path = "/v2/sesame?key=opensesame"

    async def request(l1: RemoteLayerOne) -> None:
        assert await l1.block_number() == 7
        with pytest.raises(LayerOneFailed) as failure:
            await l1.chain_id()
        assert shown in str(failure.value)
        for text in (str(failure.value), repr(failure.value.args), l1.name):
            assert "sesame" not in text

    run(provider, request, path=path, attempts=1)


@pytest.mark.parametrize(("blocks", "size"), [(3, 64 << 20), (99, 4_000)], ids=["wide", "long"])
def test_a_range_with_too_many_blocks_or_bytes_is_requested_in_halves(
    monkeypatch: pytest.MonkeyPatch, blocks: int, size: int
) -> None:
    monkeypatch.setattr(json_rpc_client, "MAX_RESPONSE_BYTES", size)
    provider = Provider()

    def respond(_method: str, params: list[Any]) -> ProviderResponse:
        first, last = int(params[0]["fromBlock"], 16), int(params[0]["toBlock"], 16)
        if last - first >= blocks:
            return error(-32005, "query returned more than 10000 results")
        return [log_at(number) for number in range(first, last + 1)]

    provider.respond = respond
    found = run(provider, lambda l1: l1.logs(CONTRACT, [Hash32.zero()], 5, 24))
    assert [log.block_number for log in found] == list(range(5, 25))
    assert len(provider.requests) > 1
    assert provider.delays == []


@pytest.mark.parametrize(
    ("code", "message"),
    [(-32601, "the method eth_getLogs does not exist"), (-32000, "header not found")],
)
def test_a_rejection_that_is_not_about_the_range_does_not_narrow_it(
    code: int, message: str
) -> None:
    provider = Provider()

    async def request(l1: RemoteLayerOne) -> None:
        provider.responses = [error(code, message)]
        with pytest.raises(LayerOneRejected, match=message):
            await l1.logs(CONTRACT, [], 0, 9_999)
        provider.requests.clear()
        provider.responses = [[]]
        await l1.logs(CONTRACT, [], 0, 9_999)
        assert len(provider.requests) == 1

    run(provider, request)


def test_a_node_that_is_unreachable_or_overloaded_does_not_narrow_the_range() -> None:
    provider = Provider()
    provider.responses = [
        web.Response(status=503),
        error(-32005, "daily request count exceeded, request rate limited"),
        error(429, "Too Many Requests"),
        [],
    ]
    assert run(provider, lambda l1: l1.logs(CONTRACT, [], 0, 9_999)) == []
    assert {params[0]["toBlock"] for _, params in provider.requests} == {hex(9_999)}
    assert provider.delays == [0.1, 0.2, 0.4]


@pytest.mark.parametrize("text", ["already known", "AlreadyKnown: already imported"])
def test_an_already_known_transaction_counts_as_sent(text: str) -> None:
    provider = Provider()
    provider.responses = [web.Response(status=502), error(-32000, text)]
    sent = run(provider, lambda l1: l1.send(b"raw"))
    assert len(sent) == 32


def test_an_included_transaction_counts_as_sent_whatever_the_error() -> None:
    receipt = {
        "transactionHash": str(Hash32(keccak256(b"raw"))),
        "blockNumber": "0x5",
        "blockHash": str(Hash32.zero()),
        "status": "0x1",
        "gasUsed": "0x1",
    }
    provider = Provider()
    provider.responses = [web.Response(status=502), error(-32000, "nonce too low"), receipt]
    assert len(run(provider, lambda l1: l1.send(b"raw"))) == 32


@pytest.mark.parametrize(
    ("response", "reason", "data"),
    [
        (error(3, "execution reverted: no", "0x1234"), "no", b"\x12\x34"),
        (error(-32000, "execution reverted"), None, b""),
        (error(3, "execution reverted", {"odd": 1}), None, b""),
    ],
)
def test_reverts_have_the_reason_and_data_of_the_response(
    response: ProviderResponse, reason: str | None, data: bytes
) -> None:
    provider = Provider()
    provider.responses = [response]
    with pytest.raises(ExecutionReverted) as raised:
        run(provider, lambda l1: l1.call(CONTRACT, b""))
    assert raised.value.data == data
    assert str(raised.value).endswith(reason or "reverted")


CALLS: dict[str, Callable[[RemoteLayerOne], Awaitable[Any]]] = {
    "block number": lambda l1: l1.block_number(),
    "block": lambda l1: l1.block(1),
    "logs": lambda l1: l1.logs(CONTRACT, [], 0, 0),
    "receipt": lambda l1: l1.receipt(Hash32.zero()),
    "code": lambda l1: l1.code(CONTRACT),
}


@pytest.mark.parametrize("method", sorted(CALLS))
@pytest.mark.parametrize("response", [7, "nonsense", {"blockNumber": "0x1"}, [{}], ["0x1"]])
def test_a_result_of_another_type_is_rejected_with_its_method(
    method: str, response: object
) -> None:
    provider = Provider()
    provider.respond = lambda _method, _params: response
    with pytest.raises(LayerOneMalformed, match=r"eth_.* with a wrong result"):
        run(provider, CALLS[method])


@pytest.mark.parametrize("trouble", ["no such key", ["no such key"], {"code": "no such key"}])
def test_an_error_that_is_not_json_rpc_keeps_its_text(trouble: object) -> None:
    provider = Provider()
    provider.responses = [{"error": trouble}]
    with pytest.raises(LayerOneRejected, match="no such key"):
        run(provider, lambda l1: l1.chain_id())


def block_at(number: int) -> dict[str, str]:
    """Return a block as a provider has it."""
    word = str(Hash32.zero())
    names = {"hash": word, "parentHash": word, "timestamp": "0x1", "baseFeePerGas": "0x7"}
    return names | {"number": hex(number)}


def test_the_tip_has_a_default_for_nodes_without_suggestion() -> None:
    provider = Provider()
    provider.responses = [block_at(1), error(-32601, "method not found")]
    fees = run(provider, lambda l1: l1.fees())
    assert (fees.base_fee, fees.tip) == (7, 10**9)


@pytest.mark.parametrize("numbers", [(9, 5), (5, 9)])
def test_nothing_is_final_because_one_response_says_so(numbers: tuple[int, int]) -> None:
    provider = Provider()
    provider.responses = [block_at(number) for number in numbers]
    assert run(provider, lambda l1: l1.block_number("finalized")) == 5


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


def test_a_read_returns_the_result_as_it_came() -> None:
    provider = Provider()
    provider.responses = [web.Response(text='{"id":1, "result": {"a" : [1.50]} }')]
    assert run(provider, lambda l1: l1.read("eth_call")) == msgspec.Raw(b'{"a" : [1.50]}')


def test_a_long_response_to_a_read_is_not_decoded() -> None:
    provider = Provider()
    provider.responses = ["x" * MAX_READ_BYTES]
    with pytest.raises(LayerOneUnreachable, match="the response has more than 4194304 bytes"):
        run(provider, lambda l1: l1.read("eth_getLogs", {}))
