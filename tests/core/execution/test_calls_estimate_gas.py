"""Gas estimates: they suffice, they are small, and they take few runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import Account, ExecutionResult, Rules, Snapshot, keccak256
from entresol.errors import (
    ExecutionHalted,
    ExecutionReverted,
    GasAllowanceExceeded,
    GasBudgetSpent,
    InsufficientFunds,
    IntrinsicGasTooLow,
    MintOverflow,
)
from entresol.execution.block_executor import BlockExecutor, ParentBlock
from entresol.execution.calls import CallRequest, Estimate, estimate_gas, estimate_l1_to_l2_gas, run
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.execution.limits import CallLimits
from entresol.primitives import abi
from entresol.primitives.l1_to_l2_gas import max_gas_limit, min_gas_limit
from entresol.primitives.transactions import Access, Authorization, PriorityTransaction, Transaction
from entresol.primitives.values import Address, Hash32
from tests.support.evm.in_memory_state import (
    ALICE,
    BOB,
    CONTRACT,
    EMPTY_CODE,
    ETHER,
    RULES,
    InMemoryState,
)
from tests.support.evm.programs import (
    Step,
    call_to,
    create,
    demand_gas,
    program,
    store,
    store_if_gas,
    work,
)
from tests.support.hex_data import word
from tests.support.run.examples import examples

RICH, POOR, TO = Address(ALICE), Address(BOB), Address(CONTRACT)
BLOCK = BlockEnv(number=10, timestamp=1_000, gas_limit=30_000_000, base_fee=7)
CAP = 2**24
LOOP = "5b 5f 56"
# Reverts with `Error("no")`.
REVERT = "6308c379a0 60e0 1b 5f 52 6020 6004 52 6002 6024 52 616e6f 60f0 1b 6044 52 6064 5f fd"


def contract(number: int) -> bytes:
    return bytes([0xC0 + number] * 20)


def world_of(*contracts: Sequence[Step]) -> InMemoryState:
    """Deploy contracts at `contract(0)` and so on, each with some wei, its slots 1 to 9 in use."""
    world = InMemoryState(accounts={ALICE: Account(0, ETHER, EMPTY_CODE)})
    for number, steps in enumerate(contracts):
        address = contract(number)
        world.deploy(address, program(steps))
        world.accounts[address] = Account(1, 1_000, world.accounts[address].code_hash)
        world.slots |= {(address, word(slot)): b"\x01" for slot in range(1, 10)}
    return world


def env_of(*contracts: Sequence[Step], rules: Rules = RULES) -> EvmEnv:
    return EvmEnv(Snapshot(world_of(*contracts)), rules, BLOCK)


def env_with(code: str) -> EvmEnv:
    return EvmEnv(Snapshot(InMemoryState.with_contract(code)), RULES, BLOCK)


def request(**fields: Any) -> CallRequest:
    return CallRequest(**{"sender": RICH, "to": TO, **fields})


def attempt(evm_env: EvmEnv, requested: CallRequest, gas: int) -> ExecutionResult | None:
    fields = {name: getattr(requested, name) for name in requested.__struct_fields__}
    try:
        return run(evm_env, CallRequest(**{**fields, "gas": gas}))
    except IntrinsicGasTooLow:
        return None


def succeeds(evm_env: EvmEnv, requested: CallRequest, gas: int) -> bool:
    result = attempt(evm_env, requested, gas)
    return result is not None and result.status == "success"


def does_the_same(evm_env: EvmEnv, requested: CallRequest, gas: int) -> bool:
    """Tell whether a run succeeds and did not save anything that costs gas."""
    result, ample = attempt(evm_env, requested, gas), attempt(evm_env, requested, CAP)
    assert ample is not None
    return result is not None and result.status == "success" and result.gas_spent >= ample.gas_spent


def smallest(evm_env: EvmEnv, requested: CallRequest) -> int:
    """Return the smallest limit that succeeds, by trying as often as it takes."""
    low, high = 0, CAP
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if succeeds(evm_env, requested, middle) else (middle, high)
    return high


def check(evm_env: EvmEnv, requested: CallRequest) -> Estimate:
    """Estimate, and compare with the smallest limit there is."""
    estimate = estimate_gas(evm_env, requested)
    least = smallest(evm_env, requested)
    assert succeeds(evm_env, requested, estimate.gas)
    assert least <= estimate.gas <= least / 0.985 + 1
    return estimate


@pytest.mark.parametrize("value", [0, 1, ETHER])
def test_a_transfer_needs_21000_and_one_run(value: int) -> None:
    assert estimate_gas(env_of([]), request(to=POOR, value=value)) == Estimate(21_000, 1)


def test_a_precompile_is_no_plain_account() -> None:
    assert estimate_gas(env_of([]), request(to=Address(word(4)[12:]))).gas == 21_015


@pytest.mark.parametrize(
    "fields",
    [
        {"to": POOR, "data": b"\x01" * 1_000},
        {"to": POOR, "data": bytes(1_000)},
        {"data": b"\x01" * 10_000},
        {"to": None, "data": bytes.fromhex("610400 5f f3")},
        {"to": None, "data": bytes.fromhex("6001 5f 55 610400 5f f3")},
        {"access_list": (Access(TO, (Hash32(word(20)),)), Access(POOR))},
        {"to": POOR, "access_list": (Access(TO, (Hash32(word(20)),)),)},
        {"value": 5},
        {"gas_price": 9},
        {"max_fee_per_gas": 9, "max_priority_fee_per_gas": 1},
    ],
)
def test_transactions_of_every_shape_take_few_runs(fields: dict[str, Any]) -> None:
    evm_env = env_of([work(100), store(20, 1), store(1, 0)])
    # A transfer with an access list is tried as a plain one first.
    assert check(evm_env, request(**fields)).runs <= 3


def test_data_costs_its_floor() -> None:
    estimate = estimate_gas(env_with("00"), request(data=b"\x01" * 1_000))
    assert estimate == Estimate(21_000 + 40 * 1_000, 2)


def test_an_authorization_is_paid_in_full_before_its_refund() -> None:
    # Nobody signed it, so it does nothing, but it costs.
    unsigned = Authorization(270, TO, 0, 0, 1, 1)
    assert check(env_with("00"), request(authorizations=(unsigned,))).gas == 21_000 + 25_000


def test_code_of_a_delegate_runs() -> None:
    world = world_of([work(100)])
    delegation = b"\xef\x01\x00" + contract(0)
    world.codes[keccak256(delegation)] = delegation
    world.accounts[BOB] = Account(1, 0, keccak256(delegation))
    evm_env = EvmEnv(Snapshot(world), RULES, BLOCK)
    assert check(evm_env, request(to=POOR)).gas > 21_000


def test_a_contract_that_needs_a_tip_over_the_base_fee_is_estimated_without_a_price() -> None:
    # Reverts if GASPRICE is below BASEFEE, which no transaction's is.
    assert estimate_gas(env_with("48 3a 10 15 600a 57 5f 5f fd 5b"), request()).gas > 21_000


def test_a_tip_without_a_fee_cap_is_no_price() -> None:
    evm_env = env_with("48 3a 10 15 600a 57 5f 5f fd 5b")
    with_tip = estimate_gas(evm_env, request(max_priority_fee_per_gas=10**30))
    assert with_tip == estimate_gas(evm_env, request())


plain_steps = st.one_of(
    st.builds(work, st.integers(1, 3_000)),
    st.builds(store, st.integers(1, 30), st.integers(0, 1)),
    st.builds(create, st.integers(0, 300)),
    st.just(call_to(BOB, value=1)),
)
demands = st.builds(demand_gas, st.integers(0, 500_000))
branches = st.builds(store_if_gas, st.integers(0, 500_000), st.integers(10, 30))


def calls(target: bytes, *, checked: bool) -> st.SearchStrategy[Step]:
    gas = st.none() | st.integers(1_000, 400_000)
    value = st.integers(0, 1)
    return st.builds(call_to, st.just(target), value=value, gas=gas, checked=st.just(checked))


@st.composite
def contract_chains(
    draw: st.DrawFn, extra: st.SearchStrategy[Step], *, checked: bool
) -> list[list[Step]]:
    """Draw contracts each of which may call the next ones, but none before it."""
    depth = draw(st.integers(1, 5))
    contracts = []
    for number in range(depth):
        step = plain_steps | extra
        for target in range(number + 1, depth):
            step |= calls(contract(target), checked=checked)
        contracts.append(draw(st.lists(step, min_size=1, max_size=4)))
    return contracts


def ample_run_succeeds(evm_env: EvmEnv) -> bool:
    return succeeds(evm_env, request(), CAP)


@settings(max_examples=examples(150))
@given(contract_chains(demands, checked=True))
def test_an_estimate_suffices_and_little_less_does_not(contracts: list[list[Step]]) -> None:
    evm_env = env_of(*contracts)
    if not ample_run_succeeds(evm_env):
        with pytest.raises((ExecutionReverted, ExecutionHalted)):
            estimate_gas(evm_env, request())
        return
    estimate = estimate_gas(evm_env, request())
    assert succeeds(evm_env, request(), estimate.gas)
    assert not succeeds(evm_env, request(), int(estimate.gas * 0.985) - 1)
    assert estimate.runs <= 20


@settings(max_examples=examples(150))
@given(contract_chains(demands | branches, checked=False))
def test_an_estimate_leaves_nothing_undone(contracts: list[list[Step]]) -> None:
    evm_env = env_of(*contracts)
    if not ample_run_succeeds(evm_env):
        return
    estimate = estimate_gas(evm_env, request())
    assert does_the_same(evm_env, request(), estimate.gas)
    assert estimate.runs <= 25


def test_a_revert_has_its_reason() -> None:
    with pytest.raises(ExecutionReverted, match=r"^execution reverted: no$") as caught:
        estimate_gas(env_with(REVERT), request())
    assert caught.value.data.startswith(bytes.fromhex("08c379a0"))


@pytest.mark.parametrize(
    ("fork", "gas", "gas_cap", "allowance"),
    [
        ("osaka", None, 50_000_000, CAP),
        ("prague", None, 50_000_000, 30_000_000),
        ("prague", None, 1_000_000, 1_000_000),
        ("prague", 500_000, 50_000_000, 500_000),
        ("prague", 40_000_000, 50_000_000, 30_000_000),
        ("prague", 20_999, 50_000_000, 30_000_000),
    ],
)
def test_the_allowance_is_the_minimum_of_its_bounds(
    fork: str, gas: int | None, gas_cap: int, allowance: int
) -> None:
    evm_env = EvmEnv(Snapshot(InMemoryState.with_contract(LOOP)), Rules(270, fork), BLOCK)
    with pytest.raises(GasAllowanceExceeded) as caught:
        estimate_gas(evm_env, request(gas=gas), CallLimits(gas_cap=gas_cap))
    assert str(caught.value) == f"gas required exceeds allowance ({allowance})"


def test_an_allowance_below_the_intrinsic_gas_does_not_suffice() -> None:
    with pytest.raises(GasAllowanceExceeded, match=r"\(22000\)"):
        estimate_gas(env_with("00"), request(gas=22_000, data=b"\x01" * 1_000))


def test_a_price_bounds_the_allowance_by_the_balance() -> None:
    price = ETHER // 100_000
    with pytest.raises(GasAllowanceExceeded, match=r"\(100000\)"):
        estimate_gas(env_with(LOOP), request(gas_price=price))
    with pytest.raises(GasAllowanceExceeded, match=r"\(50000\)"):
        estimate_gas(env_with(LOOP), request(max_fee_per_gas=price, value=ETHER // 2))


@pytest.mark.parametrize(
    "fields",
    [
        {"sender": POOR, "value": 1},
        {"value": ETHER + 1},
        {"value": ETHER, "gas_price": 7},
        {"sender": POOR, "gas_price": 7},
    ],
)
@pytest.mark.parametrize("target", [POOR, TO])
def test_what_the_sender_cannot_pay_is_rejected(target: Address, fields: dict[str, Any]) -> None:
    with pytest.raises(InsufficientFunds):
        estimate_gas(env_with("00"), request(to=target, **fields))


def test_the_budget_covers_all_runs() -> None:
    evm_env, runs = env_of([work(5_000)]), 2
    gas = estimate_gas(evm_env, request()).gas
    assert estimate_gas(evm_env, request(), CallLimits(gas_budget=runs * gas)).runs == runs
    with pytest.raises(GasBudgetSpent):
        estimate_gas(evm_env, request(), CallLimits(gas_budget=gas + gas // 2))


NOBODY = Address(b"\x99" * 20)


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


def deposit_succeeds(world: InMemoryState, request: PriorityTransaction, gas_limit: int) -> bool:
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
    assert deposit_succeeds(world, request, gas)
    floor = min_gas_limit(request)
    assert gas >= floor
    smaller = int(gas / 1.35)
    assert smaller < floor or not deposit_succeeds(world, request, smaller)


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
