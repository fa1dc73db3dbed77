"""What the log and `replay` call contracts of known sources: their names, and all that they are called with by name."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from entresol.contracts.abi_registry import AbiRegistry
from entresol.fork.replay.block_replay import BlockToReplay, TransactionReplay
from entresol.fork.replay.remote_transactions import RemoteTransaction
from entresol.primitives.headers import Header
from entresol.primitives.records import TransactionResult
from entresol.primitives.values import Hash32
from entresol.sources.registry import SourceRegistry
from entresol.terminal.details import LogDetails
from entresol.terminal.formats import JsonLogFormat, TextLogFormat
from entresol.terminal.replays import ReplayText
from entresol.terminal.transactions import TransactionLog
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.contracts.stack_trace_cases import FOLDER, FailingContracts, cases_of
from tests.support.polling import eventually


def sources() -> SourceRegistry:
    return SourceRegistry.of_paths([str(FOLDER / "plain-output.json")])


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
            sources=sources(),
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


@pytest.mark.parametrize("has_sources", [True, False])
def test_replay_names_what_sources_know(*, has_sources: bool) -> None:
    with running_api() as client:
        address, sent = call_of("custom error", client)
        code = bytes.fromhex(client("eth_getCode", address)[2:])
        options = {"tracer": "callTracer"}
        frame = client("debug_traceTransaction", sent, options)
    remote = RemoteTransaction(Hash32.zero(), 2, None)
    header = Header(
        parent_hash=Hash32.zero(),
        state_root=Hash32.zero(),
        number=7,
        gas_limit=1,
        timestamp=1,
        base_fee_per_gas=0,
    )
    block = BlockToReplay(header, Hash32.zero(), [remote], [{}])
    replayed = TransactionReplay(
        0,
        remote,
        TransactionResult(succeeded=False, gas_used=1),
        trace=msgspec.json.encode(frame),
        code_of=lambda _: code,
    )
    text = ReplayText(AbiRegistry(), sources() if has_sources else None)
    title = list(text.transaction(block, replayed))[1]
    assert ("Failures::customError(" in title) is has_sources
