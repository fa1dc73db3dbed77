"""Compiled contracts as package data."""

from __future__ import annotations

import pytest

from entresol import contracts
from entresol._native import BlockEnv, Overlay, Rules, Snapshot, TxEnv, execute
from tests.support.evm.in_memory_state import ALICE, ETHER, InMemoryState

MAX_CODE = 24_576
MAX_INIT_CODE = 49_152


@pytest.mark.parametrize("name", contracts.names())
def test_every_contract_can_be_loaded_and_deployed(name: str) -> None:
    it = contracts.artifact(name)
    assert it.name == name
    assert it.source.endswith(".sol")
    assert 0 < len(it.runtime) <= MAX_CODE
    assert len(it.runtime) < len(it.bytecode) <= MAX_INIT_CODE
    assert all(
        it.runtime[start : start + 32] == bytes(32) for at in it.immutables.values() for start in at
    )


def test_a_contract_is_loaded_once() -> None:
    assert contracts.artifact("TestERC20") is contracts.artifact("TestERC20")


def test_an_unknown_contract_is_not_found() -> None:
    with pytest.raises(FileNotFoundError):
        contracts.artifact("Nothing")


def test_the_runtime_code_with_its_immutables_is_what_a_deployment_leaves() -> None:
    it = contracts.artifact("ChainTypeManager")
    hub, timelock, version = b"\x11" * 20, b"\x22" * 20, (30).to_bytes(32)
    arguments = b"".join(value.rjust(32, b"\0") for value in (hub, timelock, version))
    overlay = Overlay(Snapshot(InMemoryState()))
    overlay.set_balance(ALICE, ETHER)
    outcome = execute(
        overlay,
        Rules(1),
        BlockEnv(number=1, timestamp=1, gas_limit=10_000_000),
        TxEnv(sender=ALICE, data=it.bytecode + arguments, gas_limit=5_000_000),
    )
    assert outcome.output == it.with_immutables(
        {"BRIDGE_HUB": hub, "validatorTimelock": timelock, "protocolVersion": version}
    )


@pytest.mark.parametrize(
    ("values", "name"),
    [({}, "decimals"), ({"decimals": b"\x12", "other": b""}, "other")],
)
def test_immutable_variables_must_be_the_contract_s(values: dict[str, bytes], name: str) -> None:
    with pytest.raises(ValueError, match=f"immutable variables of TestERC20 do not match: {name}"):
        contracts.artifact("TestERC20").with_immutables(values)


def test_the_storage_layout_names_each_variable_and_its_slot() -> None:
    layout = {it.label: (it.slot, it.type) for it in contracts.artifact("TestERC20").storage_layout}
    assert layout["totalSupply"] == (0, "uint256")
    assert layout["balanceOf"] == (1, "mapping(address => uint256)")
