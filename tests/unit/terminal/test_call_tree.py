"""Call trees with names."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from entresol._native import keccak256
from entresol.contracts.abi_registry import AbiRegistry
from entresol.execution.call_frames import CallFrame, FrameLog
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.features.fork.commands.replay_report import ReplayText
from entresol.features.fork.replay.block_replay import BlockToReplay, TransactionReplay
from entresol.features.fork.replay.remote_transactions import RemoteTransaction
from entresol.primitives import abi
from entresol.primitives.headers import Header
from entresol.primitives.records import TransactionResult
from entresol.primitives.values import Hash32
from entresol.terminal.call_tree import CallTree, describe_error
from entresol.terminal.formats import JsonLogFormat, TextLogFormat
from entresol.terminal.log_details import LogDetails
from entresol.terminal.transactions import TransactionLog
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.contracts.stack_trace_cases import FOLDER, FailingContracts, cases_of
from tests.support.polling import eventually

ONE, TWO = "0x" + "11" * 20, "0x" + "22" * 20
ABIS = AbiRegistry.of(
    [
        [
            {"name": "set", "inputs": [{"type": "uint256"}], "outputs": [{"type": "bool"}]},
            {"type": "event", "name": "Set", "inputs": [{"type": "uint256", "name": "to"}]},
            {"type": "error", "name": "Bad", "inputs": []},
        ]
    ]
)
SET = "0x" + abi.encode_call("set(uint256)", 7).hex()
TRUE = "0x" + "00" * 31 + "01"
TOPIC = "0x" + keccak256(b"Set(uint256)").hex()
TREE = CallTree(ABIS)


def frame(kind: str = "CALL", **fields: object) -> CallFrame:
    return CallFrame(**{"type": kind, "sender": ONE, "to": TWO, "gas_used": "0x5", **fields})  # type: ignore[arg-type]


def test_calls_and_events_are_drawn_in_order() -> None:
    event = FrameLog(ONE, [TOPIC], TRUE, "0x1")
    inner = [
        frame("STATICCALL", input=SET, output=TRUE),
        frame("DELEGATECALL", input="0x01020304ff"),
    ]
    assert TREE.draw(frame(input=SET, value="0x9", calls=inner, logs=[event])) == [
        f"[5] {TWO}::set{{value: 9}}(7)",
        f"  ├─ [5] {TWO}::set(7) [staticcall]",
        "  │   └─ ← [Return] true",
        "  ├─ emit Set(to: 1)",
        f"  ├─ [5] {TWO}::01020304(ff) [delegatecall]",
        "  │   └─ ← [Stop]",
        "  └─ ← [Stop]",
    ]


@pytest.mark.parametrize(
    ("root", "first", "last"),
    [
        (frame("CREATE", output="0x0102"), f"[5] → new {TWO}", "← [Return] 2 bytes of code"),
        (frame(input="0x"), f"[5] {TWO}::fallback()", "← [Stop]"),
        (frame(input="0x01"), f"[5] {TWO}::fallback(0x01)", "← [Stop]"),
        (frame(input="0x", output="0x05"), f"[5] {TWO}::fallback()", "← [Return] 0x05"),
        (frame(error="out of gas"), f"[5] {TWO}::fallback()", "← [out of gas]"),
        (
            frame(error="execution reverted", output="0x" + abi.selector("Bad()").hex()),
            f"[5] {TWO}::fallback()",
            "← [Revert] Bad()",
        ),
        (
            frame(error="execution reverted"),
            f"[5] {TWO}::fallback()",
            "← [Revert] EvmError: Revert",
        ),
        (frame("SELFDESTRUCT", value="0x1"), f"[5] {ONE}::selfdestruct → {TWO}", "← [Stop]"),
    ],
)
def test_a_frame_has_a_title_and_an_end(root: CallFrame, first: str, last: str) -> None:
    assert TREE.draw(root) == [first, f"  └─ {last}"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", None),
        (abi.encode_call("Error(string)", "boom"), "boom"),
        (abi.encode_call("Panic(uint256)", 0x11), "panic: arithmetic underflow or overflow (0x11)"),
        (abi.encode_call("Bad()"), "Bad()"),
        (bytes.fromhex("12345678"), "custom error 0x12345678"),
    ],
)
def test_a_revert_is_described(data: bytes, text: str | None) -> None:
    assert describe_error(ABIS, data) == text


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
