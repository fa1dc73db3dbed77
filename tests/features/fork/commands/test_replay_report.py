"""What `replay` prints."""

from __future__ import annotations

import msgspec
import pytest

from entresol.contracts.abi_registry import AbiRegistry, project_abis
from entresol.errors import ExecutionReverted
from entresol.features.debugger.explainer import SourceExplainer
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.features.fork.commands.replay_report import ReplayText
from entresol.features.fork.replay.block_replay import (
    BlockToReplay,
    ReceiptDifference,
    TransactionReplay,
)
from entresol.features.fork.replay.remote_transactions import RemoteTransaction
from entresol.primitives.headers import Header
from entresol.primitives.records import TransactionResult
from entresol.primitives.values import Hash32
from tests.support.chain.api_client import running_api
from tests.support.contracts.stack_trace_cases import FOLDER, FailingContracts, cases_of

HASH = Hash32(b"\x11" * 32)
REMOTE = RemoteTransaction(HASH, 2, None)
HEADER = Header(
    parent_hash=HASH, state_root=HASH, number=7, gas_limit=1, timestamp=1, base_fee_per_gas=0
)
BLOCK = BlockToReplay(HEADER, HASH, [REMOTE] * 3, [{}] * 3, ["a chain of Arbitrum"])
SAME = TransactionReplay(0, REMOTE, TransactionResult(succeeded=True, gas_used=21_000))
DIFFERENT = TransactionReplay(
    1,
    REMOTE,
    TransactionResult(succeeded=False, gas_used=50_000),
    [ReceiptDifference("gasUsed", "50,000", "50,001")],
    failure=ExecutionReverted(b"", None),
)
LEFT_OUT = TransactionReplay(2, REMOTE, note="it cannot be executed here: type 0x7e")
TEXT = ReplayText(AbiRegistry(project_abis))


def test_a_transaction_with_the_same_receipt_says_so() -> None:
    assert list(TEXT.transaction(BLOCK, SAME)) == [
        f"{HASH} (block 7, 1 of 3, type 0x2)",
        "a chain of Arbitrum",
        "status: success",
        "gas used: 21,000",
        "events: 0",
        "receipt: the same as the remote's",
    ]


def test_a_transaction_with_another_receipt_names_what_differs() -> None:
    lines = list(TEXT.transaction(BLOCK, DIFFERENT))
    assert lines[2].startswith("status: failed: ")
    assert lines[-2:] == [
        "receipt: differs from the remote's",
        "  gasUsed is 50,000 here, and 50,001 at the remote",
    ]


def test_a_block_names_what_differs_and_counts_it() -> None:
    assert list(TEXT.block(BLOCK, [SAME, DIFFERENT, LEFT_OUT])) == [
        "a chain of Arbitrum",
        f"1: {HASH}: gasUsed is 50,000 here, and 50,001 at the remote",
        f"2: {HASH}: it cannot be executed here: type 0x7e",
        f"block 7 {HASH}: 3 transactions, 1 the same, 1 different, 1 not executed",
    ]


def test_programs_get_the_same() -> None:
    found = TEXT.json(BLOCK, DIFFERENT)
    assert (found["same"], found["status"], found["gasUsed"]) == (False, 0, 50_000)
    assert found["differences"] == [{"member": "gasUsed", "here": "50,000", "remote": "50,001"}]
    assert TEXT.json(BLOCK, LEFT_OUT)["executed"] is False


@pytest.mark.parametrize("has_sources", [True, False])
def test_contracts_have_the_names_that_sources_give(*, has_sources: bool) -> None:
    case = next(case for case in cases_of("plain") if case.name == "custom error")
    with running_api() as client:
        call = FailingContracts(client).transaction(case)
        sent = client("eth_sendTransaction", call)
        code = bytes.fromhex(client("eth_getCode", call["to"])[2:])
        frame = client("debug_traceTransaction", sent, {"tracer": "callTracer"})
    replayed = msgspec.structs.replace(
        SAME, trace=msgspec.json.encode(frame), code_of=lambda _: code
    )
    sources = SourceRegistry.of_paths([str(FOLDER / "plain-output.json")])
    text = ReplayText(AbiRegistry(), SourceExplainer(sources) if has_sources else None)
    title = list(text.transaction(BLOCK, replayed))[2]
    assert ("Failures::customError(" in title) is has_sources
