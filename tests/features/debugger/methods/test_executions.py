"""Executions step by step, by RPC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chain.api_client import TARGET, ApiClient, running_api
from tests.support.contracts.stack_trace_cases import FailingContracts, cases_of
from tests.support.features.debugger.debugged_contracts import DebuggedContract, line_of
from tests.support.rpc_client import RpcError

Steps = list[dict[str, Any]]

ENDLESS = "0x5b5f56"
"""Jumps to its beginning until the gas is used up."""


@pytest.fixture(scope="module")
def client() -> Iterator[ApiClient]:
    with running_api() as api:
        yield api


@pytest.fixture(scope="module")
def contracts(client: ApiClient) -> FailingContracts:
    return FailingContracts(client)


@pytest.fixture(scope="module")
def debugged(client: ApiClient) -> DebuggedContract:
    return DebuggedContract(client)


def failed(client: ApiClient, contracts: FailingContracts, name: str) -> str:
    """Send the transaction of a case, and return its hash."""
    case = next(case for case in cases_of("plain") if case.name == name)
    sent: str = client("eth_sendTransaction", {**contracts.transaction(case), "gas": "0x100000"})
    return sent


def ran(client: ApiClient, code: str, **fields: Any) -> str:
    """Execute code in a transaction, and return its hash."""
    client("anvil_setCode", TARGET, code)
    transaction = {"from": client("eth_accounts")[0], "to": TARGET, "gas": "0x30000", **fields}
    sent: str = client("eth_sendTransaction", transaction)
    return sent


def steps_of(client: ApiClient, sent: str) -> Steps:
    """Return the steps that are recorded from the first one on."""
    steps: Steps = []
    while True:
        try:
            page = client("entresol_getExecutionSteps", sent, len(steps), 2_500)["steps"]
        except RpcError:
            return steps
        steps += page


def lines_of(steps: Steps) -> list[tuple[int, int]]:
    """Return the frames and lines that steps go through."""
    found: list[tuple[int, int]] = []
    for step in steps:
        if step["line"] is not None and (not found or found[-1] != (step["frame"], step["line"])):
            found.append((step["frame"], step["line"]))
    return found


def test_steps_go_from_line_to_line_into_functions_and_back(
    client: ApiClient, contracts: FailingContracts
) -> None:
    steps = steps_of(client, failed(client, contracts, "internal functions"))
    assert lines_of(steps) == [
        (0, offset) for offset in (123, 124, 125, 128, 129, 138, 139, 138, 129, 130, 133, 134)
    ]
    depths = {step["line"]: step["functions"] for step in steps if step["line"] is not None}
    assert [depths[offset] for offset in (125, 129, 139, 134)] == [1, 2, 3, 3]


def test_frames_have_their_contracts_functions_and_steps(
    client: ApiClient, contracts: FailingContracts
) -> None:
    sent = failed(client, contracts, "call through a proxy")
    overview = client("entresol_getExecution", sent)
    assert overview["stackTrace"] == client("entresol_getStackTrace", sent)
    assert overview["failed"]
    assert [
        (frame["parent"], frame["depth"], frame["type"], frame["contract"], frame["function"])
        for frame in overview["frames"]
    ] == [
        (None, 1, "CALL", "Calls", "throughProxy"),
        (0, 2, "STATICCALL", "Proxy", "<fallback>"),
        (1, 3, "DELEGATECALL", "Callee", "fail"),
    ]
    steps = steps_of(client, sent)
    for number, frame in enumerate(overview["frames"]):
        assert steps[frame["firstStep"]]["pc"] == 0
        assert steps[frame["firstStep"]]["frame"] == steps[frame["lastStep"]]["frame"] == number
    [source] = overview["sources"]
    assert source["name"] == "contracts/Calls.sol"
    assert source["text"].splitlines()[215].strip().startswith("Callee")


def test_the_gas_of_lines_and_of_what_has_none_is_that_of_the_execution(
    client: ApiClient, contracts: FailingContracts
) -> None:
    sent = failed(client, contracts, "call through a proxy")
    overview = client("entresol_getExecution", sent)
    counted = client("trace_transactionOpcodeGas", sent)["opcodeGas"]
    of_lines = sum(line["gas"] for line in overview["gasByLine"])
    assert 0 < of_lines < sum(opcode["gasUsed"] for opcode in counted)
    assert sum(source["gas"] for source in overview["sources"]) == of_lines


def test_without_sources_there_are_opcodes(client: ApiClient) -> None:
    sent = ran(client, "0x60015f5500")
    overview = client("entresol_getExecution", sent)
    assert (overview["steps"], overview["sources"], overview["gasByLine"]) == (4, [], [])
    assert overview["frames"][0]["contract"] is None
    assert not overview["failed"]
    assert overview["stackTrace"] is None
    assert [step["op"] for step in steps_of(client, sent)] == ["PUSH1", "PUSH0", "SSTORE", "STOP"]


def test_a_write_says_the_slot_and_both_values(client: ApiClient) -> None:
    client("anvil_setStorageAt", TARGET, f"0x{5:064x}", f"0x{7:064x}")
    steps = steps_of(client, ran(client, "0x600960055560085f5d00"))
    assert [step["change"] for step in steps if step["change"]] == [
        {
            "address": TARGET,
            "slot": f"0x{slot:064x}",
            "before": f"0x{before:064x}",
            "after": f"0x{after:064x}",
            "transient": is_transient,
        }
        for slot, before, after, is_transient in ((5, 7, 9, False), (0, 0, 8, True))
    ]


def test_of_a_long_execution_the_first_and_the_last_steps_are_recorded(client: ApiClient) -> None:
    sent = ran(client, ENDLESS, gas="0x60000")
    overview = client("entresol_getExecution", sent)
    total = overview["steps"]
    assert total > 60_000
    assert overview["recorded"] == [
        {"from": 0, "count": 10_000},
        {"from": total - 10_000, "count": 10_000},
    ]
    page = client("entresol_getExecutionSteps", sent, total - 1, 10)
    assert [step["error"] for step in page["steps"]] == ["out of gas"]
    with pytest.raises(RpcError, match=r"step 10000 is not recorded: .* of which 0 to 9999 and"):
        client("entresol_getExecutionSteps", sent, 10_000, 1)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([4, 1], "step 4 is beyond the end: the execution has 4 steps, of which 0 to 3"),
        ([2**64 - 1, 1], "is beyond the end"),
        ([0, 0], "count is from 1 to 2,500, got 0"),
        ([0, 2_501], "count is from 1 to 2,500, got 2501"),
        ([-1, 1], "from"),
        ([0], "missing"),
    ],
)
def test_steps_that_are_not_there_are_an_error(
    client: ApiClient, params: list[int], message: str
) -> None:
    sent = ran(client, "0x60015f5500")
    with pytest.raises(RpcError, match=message) as failure:
        client("entresol_getExecutionSteps", sent, *params)
    assert failure.value.code == -32602


@pytest.mark.parametrize("method", ["entresol_getExecution", "entresol_getExecutionSteps"])
def test_an_unknown_transaction_is_an_error(client: ApiClient, method: str) -> None:
    with pytest.raises(RpcError, match="transaction not found"):
        client(method, "0x" + "11" * 32, *([0, 1] if method.endswith("Steps") else []))


@pytest.mark.parametrize(
    "name", ["A", "\u202egnp.<script>" + "x" * 10_000], ids=["plain", "hostile"]
)
def test_sources_that_come_later_are_seen_and_names_returned_as_they_are(name: str) -> None:
    with running_api() as client:
        sent = ran(client, "0x60015f5500")
        assert client("entresol_getExecution", sent)["frames"][0]["contract"] is None
        code = {"object": "60015f5500", "sourceMap": "0:9:0:-"}
        output = {
            "sources": {name: {"id": 0}},
            "contracts": {name: {name: {"abi": [], "evm": {"deployedBytecode": code}}}},
        }
        text = {"sources": {name: {"content": "contract A { fallback() external {} }"}}}
        client("hardhat_addCompilationResult", "0.8.30", text, output)
        assert client("entresol_getExecution", sent)["frames"][0]["contract"] == name


def test_of_memory_the_beginning_is_returned(client: ApiClient) -> None:
    sent = ran(client, "0x60ff620100005300")
    state = client("entresol_getExecutionStep", sent, 3)
    assert state["memorySize"] == 65_568
    assert state["memory"] == "0x" + "00" * 16_384


def test_the_call_stack_has_functions_of_all_frames_with_their_lines(
    debugged: DebuggedContract,
) -> None:
    sent = debugged.send("tryToCount(uint256)", 100)
    state = debugged.state_at_line(sent, "now_ = count")
    assert [
        (frame["frame"], frame["contract"], frame["function"], frame["line"])
        for frame in state["callStack"]
    ] == [
        (0, "Debugged", "tryToCount", line_of("abi.encodeCall")),
        (1, "Counted", "increase", line_of("now_ = count")),
    ]
    assert state["callStack"][0]["address"] == debugged.address


def test_internal_functions_are_in_the_call_stack_under_their_library(
    debugged: DebuggedContract,
) -> None:
    sent = debugged.send("locals(int8,bool,bytes3)", 1, True, b"abc")
    state = debugged.state_at_line(sent, "sum = a + b")
    assert [(frame["contract"], frame["function"]) for frame in state["callStack"]] == [
        ("Debugged", "locals"),
        ("Sums", "add"),
    ]


def test_storage_has_what_the_account_used_until_the_step(debugged: DebuggedContract) -> None:
    sent = debugged.send("tryToCount(uint256)", 1)
    steps = debugged.steps(sent)
    inner = [number for number, step in enumerate(steps) if step["frame"] == 1]
    [count] = debugged.state(sent, inner[-1])["storage"]
    assert int(count["value"], 16) == int(count["before"], 16) + 3
    outer = debugged.state(sent, len(steps) - 1)
    assert outer["storageAddress"] == debugged.address
    assert [int(slot["slot"], 16) for slot in outer["storage"]] == [0, 9]


def test_what_a_failing_frame_wrote_is_undone(client: ApiClient) -> None:
    writes = "60075f55"
    inner = "0x" + "22" * 20
    client("anvil_setCode", inner, f"0x{writes}5f5ffd")
    # Writes 5 to slot 0, delegates to what writes 7 there and fails, and stops.
    sent = ran(client, f"0x60055f555f5f5f5f73{inner[2:]}5af400")
    steps = client("entresol_getExecution", sent)["steps"]
    within = client("entresol_getExecutionStep", sent, steps - 2)["storage"]
    assert [int(variable["value"], 16) for variable in within] == [7]
    after = client("entresol_getExecutionStep", sent, steps - 1)["storage"]
    assert [int(variable["value"], 16) for variable in after] == [5]


def test_a_step_that_is_not_there_is_an_error(client: ApiClient) -> None:
    sent = ran(client, "0x60015f5500")
    with pytest.raises(RpcError, match="step 4 is beyond the end") as failure:
        client("entresol_getExecutionStep", sent, 4)
    assert failure.value.code == -32602


def test_of_an_execution_too_long_to_follow_the_first_steps_are_recorded(client: ApiClient) -> None:
    sent = ran(client, ENDLESS, gas="0x200000")
    overview = client("entresol_getExecution", sent)
    assert overview["steps"] > 250_000
    assert overview["recorded"] == [{"from": 0, "count": 10_000}]
    assert overview["gasByLine"] is None
    assert overview["error"] == "out of gas"


def test_calls_as_deep_as_they_may_be_are_recorded(client: ApiClient) -> None:
    # Calls itself with all gas.
    sent = ran(client, "0x5f5f5f5f5f305af100", gas="0x1000000")
    overview = client("entresol_getExecution", sent)
    frames = overview["frames"]
    assert len(frames) > 300
    assert [frame["depth"] for frame in frames] == [*range(1, len(frames) + 1)]
    deepest = next(
        frame["firstStep"] for frame in reversed(frames) if frame["firstStep"] is not None
    )
    assert len(client("entresol_getExecutionStep", sent, deepest)["callStack"]) == 100


def test_an_execution_is_that_of_the_block_which_has_it_now(client: ApiClient) -> None:
    checkpoint = client("evm_snapshot")
    sent = ran(client, "0x60015f5500")
    before = client("entresol_getExecution", sent)
    client("evm_revert", checkpoint)
    with pytest.raises(RpcError, match="transaction not found"):
        client("entresol_getExecution", sent)
    client("evm_mine")
    assert ran(client, "0x60015f555f5000") == sent
    again = client("entresol_getExecution", sent)
    assert again["blockHash"] != before["blockHash"]
    assert (before["steps"], again["steps"]) == (4, 6)
