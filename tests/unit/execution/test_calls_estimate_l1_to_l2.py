"""The estimate for a priority transaction: L1 accepts it, L2 executes it, and it is close to the minimum."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import Snapshot
from entresol.errors import ExecutionReverted, MintOverflow
from entresol.execution.block_executor import BlockExecutor, ParentBlock
from entresol.execution.calls import estimate_l1_to_l2_gas
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.primitives import abi
from entresol.primitives.l1_to_l2_gas import max_gas_limit, min_gas_limit
from entresol.primitives.transactions import PriorityTransaction, Transaction
from entresol.primitives.values import Address, Hash32
from tests.support.evm.in_memory_state import CONTRACT, RULES, InMemoryState
from tests.support.evm.programs import Step, demand_gas, program, store, work
from tests.support.run.examples import examples

NOBODY = Address(b"\x99" * 20)
TO = Address(CONTRACT)
BLOCK = BlockEnv(number=10, timestamp=1_000, gas_limit=30_000_000, base_fee=7)
REVERT = "6308c379a0 60e0 1b 5f 52 6020 6004 52 6002 6024 52 616e6f 60f0 1b 6044 52 6064 5f fd"


def request_to(to: Address = TO, *, value: int = 0, data: bytes = b"") -> PriorityTransaction:
    return PriorityTransaction(
        sender=NOBODY,
        to=to,
        gas_limit=0,
        gas_per_pubdata_limit=800,
        max_fee_per_gas=250_000_000,
        nonce=0,
        value=value,
        data=data,
    )


def world_with(*steps: Step) -> InMemoryState:
    world = InMemoryState()
    world.deploy(CONTRACT, program(steps))
    return world


def estimate(world: InMemoryState, request: PriorityTransaction) -> int:
    return estimate_l1_to_l2_gas(EvmEnv(Snapshot(world), RULES, BLOCK), request)


def succeeds(world: InMemoryState, request: PriorityTransaction, gas_limit: int) -> bool:
    """Say whether the request succeeds in a block of its own."""
    parent = ParentBlock(Hash32.zero(), Hash32.zero())
    paid = msgspec.structs.replace(
        request, gas_limit=gas_limit, to_mint=request.value + gas_limit * request.max_fee_per_gas
    )
    executor = BlockExecutor(RULES, Snapshot(world), BLOCK, parent)
    return executor.run(Transaction.from_l1(paid)).succeeded


def test_a_transfer_needs_the_minimum_of_l1() -> None:
    request = request_to(NOBODY, value=10**18)
    assert estimate(InMemoryState(), request) == min_gas_limit(request)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(
        st.one_of(
            st.builds(work, st.integers(1, 3_000)),
            st.builds(store, st.integers(1, 9), st.integers(1, 9)),
        ),
        max_size=12,
    ),
    st.integers(0, 2_000),
)
def test_the_estimate_succeeds_and_is_at_most_a_third_above_the_minimum(
    steps: list[Step], size: int
) -> None:
    world, request = world_with(*steps), request_to(data=bytes(size))
    gas = estimate(world, request)
    assert succeeds(world, request, gas)
    floor = min_gas_limit(request)
    assert gas >= floor
    smaller = int(gas / 1.35)
    assert smaller < floor or not succeeds(world, request, smaller)


@pytest.mark.parametrize("name", ["", "BAB", "Bread and Butter " * 9])
def test_a_deposit_estimated_by_the_old_call_is_accepted_by_l1_with_the_new_one(name: str) -> None:
    described = tuple(abi.encode("(string)", (text,)) for text in (name, "BAB"))
    decimals = bytes(31) + b"\x12"
    token = (NOBODY, NOBODY, NOBODY, 10**18)
    old = abi.encode_call(
        "finalizeDeposit(address,address,address,uint256,bytes)",
        *(*token, abi.encode("(bytes,bytes,bytes)", (*described, decimals))),
    )
    description = b"\1" + abi.encode("(uint256,bytes,bytes,bytes)", (9, *described, decimals))
    new = abi.encode_call(
        "finalizeDeposit(uint256,bytes32,bytes)",
        *(9, bytes(32)),
        abi.encode("(address,address,address,uint256,bytes)", (*token, description)),
    )
    needed = min_gas_limit(request_to(data=new))
    assert needed <= estimate(InMemoryState(), request_to(data=old)) <= needed * 1.02


def test_an_estimate_is_limited_by_the_gas_of_a_block_as_l1_is() -> None:
    request = request_to()
    gas = estimate(world_with(demand_gas(29_000_000)), request)
    assert 29_000_000 < gas <= max_gas_limit(request, BLOCK.gas_limit)
    with pytest.raises(ExecutionReverted):
        estimate(world_with(demand_gas(40_000_000)), request)


def test_a_revert_is_raised() -> None:
    world = InMemoryState()
    world.deploy(CONTRACT, REVERT)
    with pytest.raises(ExecutionReverted, match="execution reverted: no"):
        estimate(world, request_to())


def test_more_ether_than_there_can_be_is_rejected() -> None:
    with pytest.raises(MintOverflow, match="integer overflow computing base token amount to mint"):
        estimate(InMemoryState(), request_to(NOBODY, value=2**256 - 1))
