"""Calls of contracts whose code is not the EVM's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol.rpc.services.past.foreign_code import is_era_code, may_have_foreign_code
from tests.support.chain.api_client import running_api
from tests.support.chain.dev_chain import BOB, LOGGER
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


def test_a_trace_of_a_call_of_era_code_names_the_account(fork: ForkClient) -> None:
    with pytest.raises(RpcError, match="EraVM code"):
        fork("trace_call", CALLED, ["trace"], "latest")


def test_its_storage_and_code_can_be_read(fork: ForkClient) -> None:
    assert fork("eth_getCode", ERA, "0x2") == fork("eth_getCode", ERA, "latest") == CODE
    assert fork("eth_getStorageAt", ERA, "0x0", "0x2") == f"0x{0:064x}"


def test_a_fork_of_another_chain_is_not_checked() -> None:
    with running_api() as client:
        client("anvil_mine", 2)
        with forked(client, 1, json=b"{}") as fork:
            fork("anvil_setCode", ERA, CODE)
            assert fork("eth_call", CALLED, "latest") == "0x"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (bytes(32), True),
        (bytes(96), True),
        (bytes(64), False),
        (b"", False),
        (b"\x60" + bytes(31), False),
        (bytes(33), False),
    ],
)
def test_era_code_has_an_odd_number_of_words(code: bytes, *, expected: bool) -> None:
    assert is_era_code(code) is expected


def test_chains_of_the_zk_stack_have_batches() -> None:
    assert may_have_foreign_code(b'{"l1BatchNumber":"0x7"}')
    assert not may_have_foreign_code(b'{"number":"0x7"}')
