"""Calls of contracts whose code is not the EVM's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chain.api_client import running_api
from tests.support.chain.dev_chain import ALICE, BOB, LOGGER
from tests.support.fork.past import ForkClient, forked
from tests.support.rpc_client import RpcError

ERA = "0x" + "e7" * 20
CODE = "0x" + "00" * 3 + "80" + "00" * 28
CALLED = {"from": str(BOB), "to": ERA}


@pytest.fixture
def fork() -> Iterator[ForkClient]:
    """Return a fork of a chain of the ZK Stack, on which both have a contract with EraVM code."""
    with running_api() as client:
        client("anvil_setCode", ERA, CODE)
        client("anvil_mine", 3)
        with forked(client, 3, json=b'{"l1BatchNumber":"0x1"}') as forked_client:
            forked_client("anvil_setCode", ERA, CODE)
            yield forked_client


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("eth_call", []),
        ("eth_estimateGas", []),
        ("eth_createAccessList", []),
        ("debug_traceCall", []),
    ],
)
def test_a_call_of_era_code_names_the_account(fork: ForkClient, name: str, more: list[Any]) -> None:
    for block in ("0x2", "latest"):
        with pytest.raises(RpcError, match=f"{ERA} has EraVM code, which is not executed here"):
            fork(name, CALLED, block, *more)
        assert fork(name, {"from": str(BOB), "to": str(LOGGER)}, block, *more)
        assert fork(name, {"from": str(BOB), "data": "0x00"}, block, *more)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("trace_call", [CALLED, ["trace"], "latest"]),
        ("anvil_dealERC20", [str(BOB), ERA, "0x1"]),
        ("eth_simulateV1", [{"blockStateCalls": [{"calls": [CALLED]}]}, "latest"]),
    ],
)
def test_whatever_else_calls_era_code_names_the_account(
    fork: ForkClient, name: str, params: list[Any]
) -> None:
    with pytest.raises(RpcError, match=f"{ERA} has EraVM code"):
        fork(name, *params)


def test_its_storage_and_code_can_be_read(fork: ForkClient) -> None:
    assert fork("eth_getCode", ERA, "0x2") == fork("eth_getCode", ERA, "latest") == CODE
    assert fork("eth_getStorageAt", ERA, "0x0", "0x2") == f"0x{0:064x}"


def test_a_fork_of_another_chain_is_not_checked() -> None:
    with running_api() as client:
        client("anvil_mine", 2)
        with forked(client, 1, json=b"{}") as fork:
            fork("anvil_setCode", ERA, CODE)
            assert fork("eth_call", CALLED, "latest") == "0x"


# It calls the EraVM contract, and goes on whatever comes of that.
CALLER = "0x" + "e9" * 20
NESTED = {"from": str(BOB), "to": CALLER}


@pytest.mark.parametrize("opcode", ["f1", "f2", "f4", "fa"])
@pytest.mark.parametrize(
    "name", ["eth_call", "eth_estimateGas", "debug_traceCall", "eth_createAccessList"]
)
def test_a_call_of_era_code_inside_another_names_the_account(
    fork: ForkClient, name: str, opcode: str
) -> None:
    value = "5f" if opcode in {"f1", "f2"} else ""
    fork("anvil_setCode", CALLER, f"0x5f5f5f5f{value}73{ERA[2:]}5a{opcode}00")
    with pytest.raises(RpcError, match=f"{ERA} has EraVM code, which is not executed here"):
        fork(name, NESTED, "latest")


def test_the_code_of_an_era_contract_is_read_by_others(fork: ForkClient) -> None:
    fork("anvil_setCode", CALLER, f"0x73{ERA[2:]}3b5f5260205ff3")
    assert int(fork("eth_call", NESTED, "latest"), 16) == 32


def test_a_transaction_that_calls_era_code_is_rejected_and_others_go_on(fork: ForkClient) -> None:
    fork("anvil_setCode", CALLER, f"0x5f5f5f5f5f73{ERA[2:]}5af100")
    with pytest.raises(RpcError, match="EraVM code"):
        fork("eth_sendTransaction", NESTED | {"from": str(ALICE), "gas": "0x30000"})
    sent = fork("eth_sendTransaction", {"from": str(ALICE), "to": str(LOGGER)})
    assert fork("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_a_call_of_era_code_that_a_delegation_leads_to_names_an_account(fork: ForkClient) -> None:
    fork("anvil_setCode", CALLER, "0xef0100" + ERA[2:])
    with pytest.raises(RpcError, match="has EraVM code"):
        fork("eth_call", NESTED, "latest")
