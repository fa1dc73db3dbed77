"""Requests in the log, and calls that fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.server.handler import ClientConnection, LocalConnection
from entresol.terminal.formats import BatchServed, JsonLogFormat, RequestServed, TextLogFormat
from entresol.terminal.requests import MAX_OF_BATCH, FailedCalls, RequestLog
from entresol.terminal.transactions import TransactionLog
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.contracts.stack_trace_cases import (
    FOLDER,
    FailingContracts,
    FailureCase,
    cases_of,
)
from tests.support.example_namespace import Toy, request

PATIENCE = 60.0
FORMAT = TextLogFormat(colours=False)
STACK = """\
Stack trace       execution reverted: second
                        at Failures.callsInternal (contracts/Failures.sol:125)
                        at Failures._first (contracts/Failures.sol:130)
                        at Failures._second (contracts/Failures.sol:134)"""


class Recorder(JsonLogFormat):
    """Records entries instead of formatting them."""

    def __init__(self) -> None:
        self.entries: list[Any] = []

    def request(self, entry: RequestServed) -> str:
        self.entries.append(entry)
        return ""

    def batch(self, entry: BatchServed) -> str:
        self.entries.append(entry)
        return ""


def logged(body: bytes) -> Any:
    """Return the log entry of a request, after comparing its response with the one without a log."""
    recorder = Recorder()
    dispatcher = Dispatcher([Toy()])
    log = RequestLog(dispatcher.handle, recorder, lambda _line: None)

    async def ask() -> tuple[bytes | None, bytes | None]:
        responses = []
        for handler in (log, dispatcher.handle):
            response = handler(body, LocalConnection())
            responses.append(
                response if response is None or isinstance(response, bytes) else await response
            )
        return responses[0], responses[1]

    first, second = asyncio.run(ask())
    assert first == second
    (entry,) = recorder.entries
    return entry


def test_a_request_is_logged_with_its_time() -> None:
    entry = logged(request("toy_chainId"))
    assert (entry.method, entry.error) == ("toy_chainId", None)
    assert 0 < entry.seconds < 60


@pytest.mark.parametrize(
    ("body", "method", "code"),
    [
        (request("toy_nothing"), "toy_nothing", -32601),
        (request("toy_getBalance", "0x12"), "toy_getBalance", -32602),
        (b"{", "(unreadable)", -32700),
        (b"\xff", "(unreadable)", -32700),
        (b'{"id":1,"method":3}', "(unreadable)", -32600),
        (b'{"jsonrpc":"2.0","method":"toy_chainId","id":[]}', "toy_chainId", -32600),
    ],
)
def test_an_error_is_logged_with_its_code(body: bytes, method: str, code: int) -> None:
    entry = logged(body)
    assert (entry.method, entry.error.code) == (method, code)


@pytest.mark.parametrize(
    ("path", "count"), [("/explorer/own", 0), ("/explorer/l1", 0), ("/explorer", 1), ("/", 1)]
)
def test_what_the_explorer_asks_for_is_not_logged(path: str, count: int) -> None:
    recorder = Recorder()
    log = RequestLog(Dispatcher([Toy()]).handle, recorder, lambda _line: None)
    assert log(request("toy_chainId"), LocalConnection(path)) is not None
    assert len(recorder.entries) == count


def test_a_batch_is_logged_once_with_its_methods() -> None:
    body = b" [" + b",".join([request("toy_chainId")] * 2 + [request("toy_nothing"), b"3"]) + b"]"
    entry = logged(body)
    assert entry.methods == {"toy_chainId": 2, "toy_nothing": 1, "(unreadable)": 1}
    assert (entry.failed, entry.error.code) == (2, -32601)


@pytest.fixture
def client() -> Iterator[ApiClient]:
    with running_api() as api:
        yield api


@pytest.fixture
def known() -> SourceRegistry:
    return SourceRegistry.of_paths([str(FOLDER / "plain-output.json")])


def case(name: str = "internal functions") -> FailureCase:
    return next(it for it in cases_of("plain") if it.name == name)


@pytest.fixture
def failing(client: ApiClient) -> dict[str, str]:
    """Return a call that fails."""
    return FailingContracts(client).transaction(case())


def body_of(method: str, *params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


class Lines:
    """What is logged, on any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str] = asyncio.Queue()

    def write(self, text: str) -> None:
        self._loop.call_soon_threadsafe(self._queue.put_nowait, text)

    async def next(self) -> str:
        return await asyncio.wait_for(self._queue.get(), PATIENCE)


def sealed(client: ApiClient, known: SourceRegistry | None, failing: dict[str, str]) -> str:
    async def run() -> str:
        lines = Lines()
        log = TransactionLog(
            client.chain.events,
            client.chain.blocks,
            FORMAT,
            lines.write,
            ledger=client.chain.ledger,
            sources=known,
        )
        handled = client.api.dispatcher.handle(
            body_of("eth_sendTransaction", failing), LocalConnection()
        )
        if handled is not None and not isinstance(handled, bytes):
            await handled
        try:
            return await lines.next()
        finally:
            log.close()

    return asyncio.run(run())


def test_a_transaction_that_failed_has_its_stack_trace(
    client: ApiClient, known: SourceRegistry, failing: dict[str, str]
) -> None:
    text = sealed(client, known, failing)
    assert "Failed            execution reverted: second" in text
    first = "Stack trace         at Failures.callsInternal (contracts/Failures.sol:125)"
    assert first in text
    assert text.count("execution reverted: second") == 1


def explained(client: ApiClient, known: SourceRegistry, *bodies: bytes) -> list[str]:
    """Return the lines of requests, up to the stack trace of the last one that failed."""

    async def run() -> list[str]:
        lines = Lines()
        written: list[str] = []
        failed = FailedCalls(client.api.dispatcher.handle, known, FORMAT, lines.write, "")
        log = RequestLog(client.api.dispatcher.handle, FORMAT, lines.write, failed_calls=failed)
        for body in bodies:
            handled = log(body, LocalConnection())
            if handled is not None and not isinstance(handled, bytes):
                await handled
        while not written or STACK not in written[-1]:
            written.append(await lines.next())
        return written

    return asyncio.run(run())


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
def test_a_failed_call_has_its_stack_trace_below_its_line(
    client: ApiClient, known: SourceRegistry, failing: dict[str, str], method: str
) -> None:
    lines = explained(client, known, body_of(method, failing, "latest"))
    assert "error 3: execution reverted: second" in lines[0]
    assert lines[1].startswith("    Stack trace")
    assert len(lines) == 2


def batch_of(*calls: tuple[object, str, dict[str, str]]) -> bytes:
    """Return a batch of calls with their ids; one with the id "none" is a notification."""
    batch = [
        {"jsonrpc": "2.0", "id": number, "method": name, "params": [it]}
        for number, name, it in calls
    ]
    for call in batch:
        if call["id"] == "none":
            del call["id"]
    return json.dumps(batch).encode()


def test_calls_of_a_batch_are_told_apart_by_id_and_order(
    client: ApiClient, known: SourceRegistry
) -> None:
    contracts = FailingContracts(client)
    failing = contracts.transaction(case())
    other = contracts.transaction(case("custom error"))
    passing = {"from": contracts.sender, "to": contracts.sender}
    body = batch_of(
        ("none", "eth_call", other),
        (7, "eth_call", passing),
        (7, "eth_call", failing),
        ("7", "eth_call", passing),
        (None, "eth_call", passing),
    )
    lines = explained(client, known, body)
    assert len(lines) == 2
    assert STACK in lines[1]


async def test_of_a_batch_with_many_failures_the_first_are_explained_and_the_others_counted(
    client: ApiClient, known: SourceRegistry, failing: dict[str, str]
) -> None:
    executed: list[bytes] = []
    lines = Lines()
    handle = client.api.dispatcher.handle

    def counted(body: bytes, connection: ClientConnection) -> Any:
        executed.append(body)
        return handle(body, connection)

    failed = FailedCalls(counted, known, JsonLogFormat(), lines.write, "")
    log = RequestLog(handle, JsonLogFormat(), lines.write, failed_calls=failed)
    body = batch_of(*((number, "eth_call", failing) for number in range(500)))
    handled = log(body, LocalConnection())
    if handled is not None and not isinstance(handled, bytes):
        await handled
    _, *traces, rest = [json.loads(await lines.next()) for _ in range(MAX_OF_BATCH + 2)]
    assert len(executed) == MAX_OF_BATCH
    assert {trace["fields"]["lines"][0] for trace in traces} == {"execution reverted: second"}
    assert rest["fields"] == {"method": "batch", "lines": ["496 more calls of the batch failed"]}
