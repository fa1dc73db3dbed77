"""What is written in the crate and in Solidity is the same, so that Python may read either."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from entresol import _native
from entresol._native import (
    Account,
    Overlay,
    Snapshot,
    charges_factory_deps,
    has_accounts,
    is_contract_account,
    keccak256,
    set_next_nonce,
    transaction_count,
)
from entresol.chain.mempool import SCHEDULES
from entresol.contracts import artifact
from entresol.contracts.slots import Value, storage_of
from entresol.primitives.transactions.system import SYSTEM_TYPE
from entresol.rollup.system_contracts import CONTRACTS
from tests.support.evm.in_memory_state import CONTRACT, InMemoryState

SOLIDITY: Final = Path(__file__).parents[3] / "contracts" / "shared" / "Addresses.sol"
ADDRESS: Final = int.from_bytes(CONTRACT)


def state_with(**variables: dict[str, Value]) -> Overlay:
    """Return a state with a contract, and these variables of system contracts, by the names of those."""
    state = Overlay(Snapshot(InMemoryState.with_contract("00")))
    addresses = {name: address for address, name in CONTRACTS.items()}
    for name, values in variables.items():
        for slot, value in storage_of(artifact(name), values).items():
            state.set_slot(addresses[name], slot, value)
    return state


def set_version(state: Overlay, version: int) -> None:
    """Let the contract be an account of this version, the first member of a struct in a mapping."""
    layout = {it.label: it for it in artifact("ContractDeployer").storage_layout}
    accounts = layout["_accounts"]
    slot = keccak256(ADDRESS.to_bytes(32) + accounts.slot.to_bytes(32))
    state.set_slot(_native.CONTRACT_DEPLOYER, slot, version.to_bytes(32))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("BOOTLOADER", "BOOTLOADER"),
        ("NONCE_HOLDER", "L2_NONCE_HOLDER"),
        ("CONTRACT_DEPLOYER", "L2_DEPLOYER"),
        ("BASE_TOKEN", "L2_BASE_TOKEN"),
    ],
)
def test_an_address_is_that_of_the_contracts(ours: str, theirs: str) -> None:
    source = SOLIDITY.read_text(encoding="utf-8")
    (found,) = re.findall(rf"constant {theirs} = address\((0x\w+)\)", source)
    assert int.from_bytes(getattr(_native, ours)) == int(found, 16)


def test_the_type_of_system_transactions_is_that_of_the_crate() -> None:
    assert SYSTEM_TYPE == _native.SYSTEM_TYPE


def test_the_engine_knows_each_fork_that_has_a_gas_schedule() -> None:
    for fork in SCHEDULES:
        _native.Rules(1, fork)


def test_the_bootloader_says_what_a_chain_supports() -> None:
    calls = state_with(Bootloader={"supportedAccountVersion": _native.ACCOUNT_VERSION})
    charges = state_with(Bootloader={"chargesFactoryDeps": True})
    assert (has_accounts(calls), charges_factory_deps(calls)) == (True, False)
    assert (has_accounts(charges), charges_factory_deps(charges)) == (False, True)


@pytest.mark.parametrize(("version", "is_account"), [(0, False), (1, True), (2, False)])
def test_the_deployer_says_which_contract_is_an_account(version: int, is_account: bool) -> None:
    state = state_with(Bootloader={"supportedAccountVersion": _native.ACCOUNT_VERSION})
    set_version(state, version)
    assert is_contract_account(state, CONTRACT) is is_account


def test_the_nonce_holder_has_the_nonces_of_contract_accounts() -> None:
    deployments = 5 << 128
    state = state_with(
        Bootloader={"supportedAccountVersion": _native.ACCOUNT_VERSION},
        NonceHolder={"_rawNonces": {ADDRESS: deployments | 3}},
    )
    set_version(state, _native.ACCOUNT_VERSION)
    assert transaction_count(state, CONTRACT) == 3
    set_next_nonce(state, CONTRACT, 9)
    assert transaction_count(state, CONTRACT) == 9
    ((slot, _),) = storage_of(artifact("NonceHolder"), {"_rawNonces": {ADDRESS: 1}}).items()
    assert int.from_bytes(state.slot(_native.NONCE_HOLDER, slot)) == deployments | 9
    account = state.account(CONTRACT)
    assert account is not None
    assert account.nonce == 1


def test_the_nonce_of_another_sender_is_in_its_account() -> None:
    state = state_with()
    set_next_nonce(state, CONTRACT, 9)
    assert transaction_count(state, CONTRACT) == 9
    nobody = bytes(20)
    assert transaction_count(state, nobody) == 0
    set_next_nonce(state, nobody, 4)
    assert state.account(nobody) == Account(nonce=4)
