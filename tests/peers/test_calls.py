"""Calls and estimates, beside those of a real anvil on the same state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from entresol._native import Account, Rules, Snapshot
from entresol.execution.calls import CallRequest, estimate_gas
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.primitives.values import Address
from tests.support.anvil import Anvil, running_anvil
from tests.support.evm.in_memory_state import EMPTY_CODE, InMemoryState
from tests.support.evm.programs import Step, call_to, create, demand_gas, program, store, work
from tests.support.hex_data import word

pytestmark = pytest.mark.peer

# Anvil's first account, which it signs for.
SENDER = Address.parse("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
STRANGER = Address(b"\x42" * 20)
BALANCE = 10_000 * 10**18
WITH_TRANSACTIONS = False


def contract(number: int) -> Address:
    return Address(bytes([0xC0 + number] * 20))


@pytest.fixture(scope="module")
def running() -> Iterator[Anvil]:
    # One of its own: what BASEFEE is on a genesis does not come back with a revert.
    with running_anvil() as anvil:
        yield anvil


@pytest.fixture
def peer(running: Anvil) -> Iterator[Anvil]:
    """Return an anvil that forgets what the test did."""
    with running.isolated():
        yield running


def deploy(peer: Anvil, codes: Sequence[str]) -> EvmEnv:
    """Put the same contracts into anvil and into an EVM environment, each with some wei and used slots."""
    world = InMemoryState(accounts={SENDER: Account(0, BALANCE, EMPTY_CODE)})
    for number, code in enumerate(codes):
        address = contract(number)
        world.deploy(address, code)
        world.accounts[address] = Account(1, 1_000, world.accounts[address].code_hash)
        peer("anvil_setCode", str(address), "0x" + bytes.fromhex(code).hex())
        peer("anvil_setBalance", str(address), hex(1_000))
        peer("anvil_setNonce", str(address), "0x1")
        for slot in range(1, 31):
            value = word(1 if slot < 10 else 0)
            world.slots[address, word(slot)] = value
            peer("anvil_setStorageAt", str(address), hex(slot), "0x" + value.hex())
    peer("anvil_setBalance", str(SENDER), hex(BALANCE))
    block = peer("eth_getBlockByNumber", "latest", WITH_TRANSACTIONS)
    parts = BlockEnv(
        number=int(block["number"], 16),
        timestamp=int(block["timestamp"], 16),
        gas_limit=int(block["gasLimit"], 16),
        beneficiary=Address.parse(block["miner"]),
        base_fee=int(block["baseFeePerGas"], 16),
    )
    return EvmEnv(Snapshot(world), Rules(31337), parts)


def as_json(request: CallRequest) -> dict[str, Any]:
    fields = {"from": str(request.sender), "value": hex(request.value)}
    fields["data"] = "0x" + request.data.hex()
    return fields if request.to is None else {**fields, "to": str(request.to)}


def chain(depth: int, *inner: Step) -> list[list[Step]]:
    callers: list[list[Step]] = [[call_to(contract(n + 1))] for n in range(depth)]
    return [*callers, list(inner)]


@pytest.mark.parametrize(
    ("contracts", "fields"),
    [
        ([], {"to": STRANGER, "value": 1}),
        ([], {"to": STRANGER, "data": b"\x01" * 500}),
        ([], {"data": bytes.fromhex("6001 5f 55 610400 5f f3")}),
        ([[work(100)]], {}),
        ([[store(20, 1), work(50)]], {"value": 3}),
        ([[store(slot, 0) for slot in range(1, 10)]], {}),
        ([[call_to(STRANGER, value=1)]], {}),
        ([[create(300), store(21, 1)]], {}),
        ([[demand_gas(200_000), store(20, 1)]], {}),
        (chain(1, work(3_000), store(20, 1)), {}),
        (chain(4, work(3_000), store(1, 0)), {}),
        (chain(10, work(10_000)), {}),
    ],
)
def test_estimates_are_as_small_as_anvils_and_suffice_there(
    peer: Anvil, contracts: list[list[Step]], fields: dict[str, Any]
) -> None:
    evm_env = deploy(peer, [program(steps) for steps in contracts])
    target = {"to": contract(0)} if contracts else {}
    request = CallRequest(**{"sender": SENDER, **target, **fields})
    estimate = estimate_gas(evm_env, request)
    assert estimate.gas <= int(peer("eth_estimateGas", as_json(request)), 16) * 1.02
    sent = {**as_json(request), "gas": hex(estimate.gas)}
    receipt = peer.receipt(peer("eth_sendTransaction", sent))
    assert receipt["status"] == "0x1"
