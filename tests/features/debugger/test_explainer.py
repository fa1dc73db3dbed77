"""The log with the sources of contracts: names, and where in the source something failed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.contracts.abi_registry import AbiRegistry
from entresol.features.debugger.explainer import SourceExplainer
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.server.handler import ClientConnection, LocalConnection
from entresol.terminal.formats import JsonLogFormat, TextLogFormat
from entresol.terminal.log_details import LogDetails
from entresol.terminal.requests import MAX_OF_BATCH, FailedCalls, RequestLog
from entresol.terminal.transactions import TransactionLog
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.contracts.stack_trace_cases import (
    FOLDER,
    FailingContracts,
    FailureCase,
    cases_of,
)
from tests.support.polling import eventually

PATIENCE = 60.0
FORMAT = TextLogFormat(colours=False)
STACK = """\
Stack trace       execution reverted: second
                        at Failures.callsInternal (contracts/Failures.sol:125)
                        at Failures._first (contracts/Failures.sol:130)
                        at Failures._second (contracts/Failures.sol:134)"""


def explainer() -> SourceExplainer:
    return SourceExplainer(SourceRegistry.of_paths([str(FOLDER / "plain-output.json")]))


def call_of(name: str, client: ApiClient) -> tuple[str, str]:
    """Send the call of a case; return the contract's address and the transaction."""
    case = next(it for it in cases_of("plain") if it.name == name)
    transaction = FailingContracts(client).transaction(case)
    return transaction["to"], client("eth_sendTransaction", transaction)


def logged(name: str, verbosity: int, *, is_json: bool = True) -> list[str]:
    """Return what is logged of the deployment of a case, and of its call."""
    lines: list[str] = []
    with running_api() as client:
        chain = client.chain
        log = TransactionLog(
            chain.events,
            chain.blocks,
            JsonLogFormat() if is_json else TextLogFormat(colours=False),
            lines.append,
            details=LogDetails(AbiRegistry(), verbosity),
            ledger=chain.ledger,
            explainer=explainer(),
        )
        _, sent = call_of(name, client)
        # A log that is closed writes what is left without traces.
        client.receipt(sent)
        eventually(lambda: any(sent in line for line in lines))
        log.close()
    return lines


def entries(name: str, verbosity: int) -> list[dict[str, Any]]:
    return [json.loads(it)["fields"] for it in logged(name, verbosity)]


def test_the_log_names_the_contracts_that_are_created_and_called() -> None:
    assert [entry["contract"] for entry in entries("overflow", 0)] == ["Failures", "Failures"]
    created, called = logged("overflow", 0, is_json=False)
    rows = [line.split("  ") for it in (created, called) for line in it.splitlines()]
    named = [row[2] for row in rows if row[-1].endswith(" (Failures)")]
    assert named == ["Contract created", "To"]


def test_the_call_of_a_known_source_is_decoded_without_an_abi() -> None:
    assert entries("overflow", 1)[-1]["call"].startswith("Failures::overflow(")


def test_a_custom_error_of_a_known_source_is_named() -> None:
    failed = entries("custom error", 0)[-1]
    assert failed["failure"].startswith("execution reverted: TooMuch(")


def test_the_call_tree_has_names_of_contracts_functions_and_errors() -> None:
    _, created, called = entries("call that reverts with a custom error", 4)
    tree = "\n".join(called["trace"])
    assert "→ new Calls@0x" in created["trace"][0]
    assert "→ new Callee@0x" in "\n".join(created["trace"])
    assert "Calls::custom()" in called["trace"][0]
    assert "Callee::failCustom() [staticcall]" in tree
    assert "← [Revert] Refused(" in tree


def test_what_a_proxy_is_called_with_is_decoded_by_the_abi_of_another_contract() -> None:
    tree = "\n".join(entries("call through a proxy", 4)[-1]["trace"])
    assert "Proxy::fail(" in tree
    assert "Callee::fail(" in tree


@pytest.fixture
def client() -> Iterator[ApiClient]:
    with running_api() as api:
        yield api


@pytest.fixture
def known() -> SourceExplainer:
    return explainer()


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


def sealed(client: ApiClient, known: SourceExplainer | None, failing: dict[str, str]) -> str:
    async def run() -> str:
        lines = Lines()
        log = TransactionLog(
            client.chain.events,
            client.chain.blocks,
            FORMAT,
            lines.write,
            ledger=client.chain.ledger,
            explainer=known,
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
    client: ApiClient, known: SourceExplainer, failing: dict[str, str]
) -> None:
    text = sealed(client, known, failing)
    assert "Failed            execution reverted: second" in text
    first = "Stack trace         at Failures.callsInternal (contracts/Failures.sol:125)"
    assert first in text
    assert text.count("execution reverted: second") == 1


def explained(client: ApiClient, known: SourceExplainer, *bodies: bytes) -> list[str]:
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
    client: ApiClient, known: SourceExplainer, failing: dict[str, str], method: str
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
    client: ApiClient, known: SourceExplainer
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
    client: ApiClient, known: SourceExplainer, failing: dict[str, str]
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
