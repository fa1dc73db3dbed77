"""Stack traces by RPC, on both layers' methods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.chain.api_client import REVERT, TARGET, ApiClient
from tests.support.contracts.stack_trace_cases import FailingContracts, cases_of, output_of
from tests.support.rpc_client import RpcError


def failing_transaction(client: ApiClient, name: str = "internal functions") -> dict[str, Any]:
    """Return the call of a case whose contract is deployed, and whose sources are known."""
    case = next(case for case in cases_of("plain") if case.name == name)
    return FailingContracts(client).transaction(case)


def test_without_sources_the_error_says_how_to_give_them(client: ApiClient) -> None:
    with pytest.raises(RpcError, match="start it with --sources") as failure:
        client("entresol_getCallStackTrace", {"to": TARGET})
    assert failure.value.code == -32000


@pytest.mark.parametrize("code", ["0x", REVERT])
def test_a_call_that_succeeds_and_a_failure_without_sources_have_no_stack_trace(
    client: ApiClient, code: str
) -> None:
    FailingContracts(client)
    client("anvil_setCode", TARGET, code)
    assert client("entresol_getCallStackTrace", {"to": TARGET}) is None


def test_a_transaction_that_succeeds_has_no_stack_trace(client: ApiClient) -> None:
    contracts = FailingContracts(client)
    contracts.deploy("Callee")
    sealed = client("eth_getBlockByNumber", "latest", False)["transactions"][0]
    assert client("entresol_getStackTrace", sealed) is None


def test_an_unknown_transaction_is_an_error(client: ApiClient) -> None:
    FailingContracts(client)
    with pytest.raises(RpcError, match="transaction not found"):
        client("entresol_getStackTrace", "0x" + "11" * 32)


def test_a_call_runs_on_the_state_of_its_block(client: ApiClient) -> None:
    before = client("eth_blockNumber")
    failing = failing_transaction(client)
    assert client("entresol_getCallStackTrace", failing, before) is None
    assert client("entresol_getCallStackTrace", failing, "latest") is not None


@pytest.mark.parametrize(
    "params",
    [
        ["0.8.26", {}],
        ["0.8.26", {}, []],
        ["0.8.26", {"sources": []}, {}],
        ["0.8.26", {}, {"contracts": {"A.sol": {"A": {"evm": {"bytecode": {"object": 5}}}}}}],
    ],
)
def test_a_malformed_compilation_is_rejected(client: ApiClient, params: list[object]) -> None:
    assert client.error("hardhat_addCompilationResult", *params).code == -32602


def test_a_compilation_without_texts_has_contracts_and_functions_by_their_abi(
    client: ApiClient,
) -> None:
    failing = failing_transaction(client)
    assert client("hardhat_addCompilationResult", "0.8.26", {}, output_of("plain")["output"])
    trace = client("entresol_getCallStackTrace", failing)
    assert trace["text"][1:] == ["  at Failures.callsInternal (contracts/Failures.sol)"]


def test_a_text_that_ends_after_a_word_and_an_offset_that_is_too_long_are_left_out(
    client: ApiClient,
) -> None:
    failing = failing_transaction(client)
    output = output_of("plain")["output"]
    texts = {"sources": {name: {"content": "abstract"} for name in output["sources"]}}
    assert client("hardhat_addCompilationResult", "0.8.26", texts, output)
    assert client("entresol_getCallStackTrace", failing)["text"]
    maps = {"pc_pos_map": {"9" * 5_000: [1, 0, 1, 1]}}
    deployed = {"object": "0x01", "sourceMap": maps}
    vyper = {
        "sources": {"T.vy": {"id": 0}},
        "contracts": {"T.vy": {"T": {"evm": {"deployedBytecode": deployed}}}},
    }
    assert client(
        "hardhat_addCompilationResult", "0.4.0", {"sources": {"T.vy": {"content": ""}}}, vyper
    )


def test_the_error_of_a_call_is_what_it_is_without_sources(client: ApiClient) -> None:
    failing = failing_transaction(client, "require with a reason")
    with pytest.raises(RpcError, match="execution reverted: not enough") as failure:
        client("eth_call", failing)
    assert failure.value.data.startswith("0x08c379a0")
