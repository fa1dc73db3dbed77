"""Stack traces, beside those that Hardhat has of the same contracts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from entresol.execution.tracing import TraceBudget, TraceLimits
from entresol.features.debugger.sources import stack_trace, steps
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.features.debugger.stack_traces import failure_of_transaction
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.contracts.accounts import EXECUTE, ScriptedWorld
from tests.support.contracts.stack_trace_cases import (
    FOLDER,
    FailingContracts,
    FailureCase,
    cases_of,
    output_of,
    right_lines,
)

OPTIMIZED_RIGHT = {"optimized": (73, 43), "ir": (42, 20)}
"""How many of the cases are right: the node's, and Hardhat's. docs/debugging.md has them."""


@pytest.fixture(scope="module")
def api() -> Iterator[ApiClient]:
    with running_api() as client:
        yield client


@pytest.fixture(scope="module")
def contracts(api: ApiClient) -> FailingContracts:
    return FailingContracts(api)


def case(name: str) -> FailureCase:
    return next(it for it in cases_of("plain") if it.name == name)


@pytest.mark.parametrize("found", cases_of("plain"), ids=lambda it: it.name)
def test_every_line_is_right_without_an_optimizer(
    contracts: FailingContracts, found: FailureCase
) -> None:
    assert contracts.lines(found) == right_lines()[found.name]


@pytest.mark.parametrize("settings", OPTIMIZED_RIGHT)
def test_with_an_optimizer_more_lines_are_right_than_hardhats(
    api: ApiClient, settings: str
) -> None:
    contracts, right = FailingContracts(api, settings), right_lines()
    found = cases_of(settings)
    ours = sum(contracts.lines(it) == right[it.name] for it in found)
    hardhats = sum(it.hardhat == right[it.name] for it in found)
    assert (ours, hardhats) == OPTIMIZED_RIGHT[settings]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("require with a reason", "execution reverted: not enough"),
        ("custom error", "execution reverted: TooMuch(1000, 100)"),
        ("index out of bounds", "execution reverted: panic: array out-of-bounds access (0x32)"),
        ("error with the text of another language", "execution reverted: übel {"),
        (
            "value for a function that is not payable",
            "execution reverted: the function is not payable, and was called with a value of 1 wei",
        ),
        (
            "call data too short",
            "execution reverted: the function was called with malformed arguments",
        ),
        (
            "unknown selector",
            "execution reverted: no function has the selector 0x12345678, and there is no fallback function",
        ),
        (
            "selector too short",
            "execution reverted: the call data is shorter than a selector, and there is no fallback function",
        ),
        ("no receive", "execution reverted: there is no receive function, and no payable fallback"),
        (
            "call of an account without code, no result",
            "execution reverted: a function of an account without code was called",
        ),
        (
            "result too short",
            "execution reverted: a call returned less data than its function should",
        ),
        (
            "transfer without ether",
            "execution reverted: a call failed: insufficient balance for transfer",
        ),
        ("revert without a reason", "execution reverted"),
        ("out of gas", "out of gas"),
        ("invalid in assembly", "invalid opcode: INVALID"),
    ],
)
def test_the_message_says_why(
    api: ApiClient, contracts: FailingContracts, name: str, message: str
) -> None:
    trace = api("entresol_getCallStackTrace", contracts.transaction(case(name)))
    assert trace["message"] == message


def test_a_frame_names_contract_function_line_and_address(
    api: ApiClient, contracts: FailingContracts
) -> None:
    failing = contracts.transaction(case("call through a proxy"))
    trace = api("entresol_getCallStackTrace", failing)
    assert trace["text"][:2] == [
        "execution reverted: through proxy",
        "  at Calls.throughProxy (contracts/Calls.sol:216)",
    ]
    assert [it["contract"] for it in trace["frames"]] == ["Calls", "Proxy", "Callee"]
    addresses = [it["address"] for it in trace["frames"]]
    assert addresses[0] == failing["to"]
    assert len(set(addresses)) == 3


def test_a_sealed_transaction_has_the_trace_of_its_call(
    api: ApiClient, contracts: FailingContracts
) -> None:
    failing = contracts.transaction(case("super calls"))
    called = api("entresol_getCallStackTrace", failing)
    assert api("entresol_getStackTrace", api("eth_sendTransaction", failing)) == called


def test_a_contract_without_a_source_is_shown_by_its_address() -> None:
    with running_api() as client:
        contracts = FailingContracts(client)
        failing = contracts.transaction(case("external function of a library"))
        library = contracts.deploy("Checks")
        # PUSH0 PUSH0 REVERT.
        client("anvil_setCode", library, "0x5f5ffd")
        trace = client("entresol_getCallStackTrace", failing)
    assert trace["text"] == [
        "execution reverted",
        "  at Calls.externalLibrary (contracts/Calls.sol:212)",
        f"  at <unknown contract> ({library})",
    ]


def test_an_execution_with_too_many_steps_has_the_functions_that_were_called(
    api: ApiClient, contracts: FailingContracts
) -> None:
    failing = {**contracts.transaction(case("out of gas")), "gas": hex(16_000_000)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "MAX_STEP_BYTES", 1_000)
        patch.setattr(
            stack_trace, "STEPS", b'{"disableStack":true,"disableStorage":true,"limit":1000}'
        )
        trace = api("entresol_getCallStackTrace", failing)
    assert trace["text"][1:] == ["  at Failures.outOfGas (contracts/Failures.sol:174)"]


def test_a_transaction_of_a_contract_account_has_the_frames_of_its_execution() -> None:
    world = ScriptedWorld()
    compiled = output_of("plain")["output"]["contracts"]["contracts/Failures.sol"]["Failures"]
    failures = world.put(compiled["evm"]["deployedBytecode"]["object"])
    call = case("internal functions").call
    assert call is not None
    account = world.account()
    world.script(account, EXECUTE, (failures, 0, bytes.fromhex(call["data"][2:])))
    assert not world.include(world.from_contract(account, to=failures)).succeeded
    trace = failure_of_transaction(
        SourceRegistry.of_paths([str(FOLDER / "plain-output.json")]),
        world.chain.ledger.sealed_block(world.chain.number),
        0,
        lambda: TraceBudget(TraceLimits()),
    )
    assert trace is not None
    assert trace.lines() == [
        "execution reverted: second",
        f"  at <unknown contract> ({account})",
        "  at Failures.callsInternal (contracts/Failures.sol:125)",
        "  at Failures._first (contracts/Failures.sol:130)",
        "  at Failures._second (contracts/Failures.sol:134)",
    ]


def test_of_a_deep_recursion_both_ends_are_shown(
    api: ApiClient, contracts: FailingContracts
) -> None:
    failing = contracts.transaction(case("recursion"))
    trace = api(
        "entresol_getCallStackTrace", {**failing, "data": failing["data"][:-64] + f"{150:064x}"}
    )
    assert (len(trace["frames"]), trace["omitted"]) == (100, 51)
    assert trace["text"][51] == "  … (51 more)"
    assert trace["text"][-1] == "  at Failures.recursive (contracts/Failures.sol:154)"


VYPER_RUN = "0xa444f5e9"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            {"data": VYPER_RUN + f"{1:064x}"},
            ["execution reverted: safesub", "  at T.run (T.vy:18)"],
        ),
        (
            {"data": VYPER_RUN + f"{50:064x}"},
            ["execution reverted: too large", "  at T.run (T.vy:16)", "  at T._check (T.vy:12)"],
        ),
        (
            {"data": VYPER_RUN + f"{1:064x}", "value": "0x1"},
            ["execution reverted: bad calldatasize or callvalue", "  at T.run (T.vy:14)"],
        ),
        ({"data": "0x12345678"}, ["execution reverted: default", "  at T.<fallback> (T.vy:23)"]),
    ],
    ids=["checked arithmetic", "internal function", "not payable", "default"],
)
def test_vyper_has_functions_and_lines(
    vyper: tuple[ApiClient, str], call: dict[str, str], text: list[str]
) -> None:
    client, address = vyper
    sent = {"from": client("eth_accounts")[0], "to": address, **call}
    assert client("entresol_getCallStackTrace", sent)["text"] == text


@pytest.fixture(scope="module")
def vyper() -> Iterator[tuple[ApiClient, str]]:
    folder = FOLDER / "vyper"
    output = json.loads((folder / "output.json").read_bytes())
    code = output["contracts"]["T.vy"]["T"]["evm"]["bytecode"]["object"]
    with running_api() as client:
        texts = json.loads((folder / "input.json").read_bytes())
        client("hardhat_addCompilationResult", "0.4.3", texts, output)
        creation = {"from": client("eth_accounts")[0], "data": code + f"{50:064x}"}
        sent = client("eth_sendTransaction", creation)
        yield client, client("eth_getTransactionReceipt", sent)["contractAddress"]
