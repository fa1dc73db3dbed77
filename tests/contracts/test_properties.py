"""Properties of the contracts: the vault's balances, the trees and the fees, after any actions."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import BlockEnv, Overlay, Rules, Snapshot, execute
from entresol.chain.fees import LARGEST_BASE_FEE, FeeConstants, FeeModel
from entresol.execution.evm_env import PRIORITY_CHECKS, priority_tx_env
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.l1_to_l2_gas import REQUIRED_GAS_PER_PUBDATA, min_gas_limit
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.transactions import PriorityTransaction
from tests.support.contracts.batches import Batch
from tests.support.contracts.engine import ETHER, GWEI, Reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    CHAIN_ID,
    DEPLOYER,
    Deployed,
    deploy,
    direct,
    settle,
)
from tests.support.contracts.requests import payload, request
from tests.support.evm.in_memory_state import InMemoryState
from tests.support.run.examples import examples


@settings(max_examples=examples(25))
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(0, 9))
def test_batches_of_any_size_have_the_requests_in_order(sizes: list[int], more: int) -> None:
    l1 = deploy()
    requests = tuple(request(l1) for _ in range(sum(sizes) + more))
    first = 0
    previous = l1.genesis
    for number, size in enumerate(sizes, 1):
        batch = Batch(
            number=number,
            requests=requests[first : first + size],
            first_request=first,
            all_requests=requests,
        )
        settle(l1.engine, l1.timelock, l1.chain, previous, batch)
        first, previous = first + size, batch
    assert l1.engine.read(l1.chain, "getPriorityQueueSize") == more


@settings(max_examples=examples(50))
@given(
    gas_price=st.integers(0, 10_000 * GWEI),
    gas_limit=st.integers(0, 72_000_000),
    per_pubdata=st.integers(1, 100_000),
    mode=st.integers(0, 1),
    overhead=st.integers(0, 2**32 - 1),
    minimal=st.integers(0, 10**12),
    ratio=st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)),
)
def test_the_base_cost_follows_the_formula_for_all_settings(
    *,
    gas_price: int,
    gas_limit: int,
    per_pubdata: int,
    mode: int,
    overhead: int,
    minimal: int,
    ratio: tuple[int, int],
) -> None:
    l1 = deploy()
    params = (mode, overhead, 120_000, 80_000_000, 99_000, minimal)
    l1.engine.send(DEPLOYER, l1.chain, "changeFeeParams", params)
    l1.engine.send(DEPLOYER, l1.chain, "setTokenMultiplier", *ratio)
    price = gas_price * ratio[0] // ratio[1]
    by_gas = -(-minimal * ratio[0] // ratio[1]) + price * overhead // 80_000_000
    by_pubdata = (0 if mode else 17 * price) + price * overhead // 120_000
    expected = max(by_gas, -(-by_pubdata // per_pubdata)) * gas_limit
    question = (gas_price, gas_limit, per_pubdata)
    for contract, chain in ((l1.chain, ()), (l1.bridgehub, (CHAIN_ID,))):
        cost = l1.engine.read(contract, "l2TransactionBaseCost", *chain, *question)
        assert cost == expected


LARGEST = 2**128 - 1
numbers = st.integers(1, LARGEST) | st.integers(1, 10**6) | st.sampled_from([10**18, LARGEST])


@settings(max_examples=examples(50))
@given(numbers, numbers, st.integers(0, 10**15), st.integers(0, 10**13))
def test_the_node_has_the_minimum_of_l1_for_any_price_of_ether_and_no_request_pays_less(
    nominator: int, denominator: int, gas_price: int, minimal: int
) -> None:
    l1 = deploy()
    params = (1, 1_000_000, 120_000, 80_000_000, 99_000, minimal)
    l1.engine.send(DEPLOYER, l1.chain, "changeFeeParams", params)
    l1.engine.send(DEPLOYER, l1.chain, "setTokenMultiplier", nominator, denominator)

    def price_on_l1(gas_price: int) -> int:
        asked = ("l2TransactionBaseCost", gas_price, 1, REQUIRED_GAS_PER_PUBDATA)
        return int(l1.engine.read(l1.chain, *asked))

    minimum = price_on_l1(0)
    constants = FeeConstants(minimal_l2_gas_price=minimal)
    try:
        model = FeeModel(constants, gas_price, EtherPrice(nominator, denominator))
    except ValueError:
        assert minimum > LARGEST_BASE_FEE
        return
    assert model.current().base_fee == model.quoted().base_fee == minimum
    assert price_on_l1(gas_price) >= minimum


L1_TRANSACTION_GAS = 1 << 24
"""The maximum of a transaction's gas (EIP-7825)."""


def mixed(size: int, zeros: int) -> bytes:
    """Return data of which so many of 256 bytes are zero, spread evenly."""
    return bytes(0 if (place * 97) % 256 < zeros else 1 + place % 255 for place in range(size))


def accepts(l1: Deployed, gas_limit: int, data: bytes, deps: list[bytes]) -> bool:
    asked = direct(l2_gas_limit=gas_limit, l2_calldata=data, factory_deps=deps)
    try:
        l1.engine.send(ALICE, l1.bridgehub, "requestL2TransactionDirect", asked, value=ETHER)
    except Reverted as rejection:
        if rejection.error not in {"ValidateTxnNotEnoughGas", "TxnBodyGasLimitNotEnoughGas"}:
            raise
        return False
    return True


def start(transaction: PriorityTransaction) -> None:
    """Execute a transaction as an L2 does; raises `InvalidTransaction` if it cannot start."""
    state = InMemoryState()
    state.slots[BOOTLOADER, (1).to_bytes(32)] = (1).to_bytes(32)
    execute(
        Overlay(Snapshot(state)),
        Rules(CHAIN_ID),
        BlockEnv(number=1, timestamp=1, gas_limit=transaction.gas_limit),
        priority_tx_env(transaction),
        checks=PRIORITY_CHECKS,
    )


@settings(max_examples=examples(60))
@given(
    size=st.one_of(st.integers(0, 100), st.integers(0, 12_000), st.integers(12_000, 60_000)),
    zeros=st.one_of(st.integers(0, 256), st.sampled_from([0, 255, 256])),
    deps=st.integers(0, 2),
    words=st.sampled_from([1, 31, 501]),
    more=st.one_of(st.integers(-3, 3), st.integers(-400_000, 400_000)),
)
def test_l2_can_start_every_request_that_l1_accepts(
    *, size: int, zeros: int, deps: int, words: int, more: int
) -> None:
    l1 = deploy()
    l1.engine.gas_limit = L1_TRANSACTION_GAS
    data, codes = mixed(size, zeros), [mixed(32 * words, zeros)] * deps
    assert accepts(l1, 9_000_000, data, codes)
    least = min_gas_limit(payload(l1))
    gas_limit = max(0, least + more)
    assert accepts(l1, gas_limit, data, codes) is (gas_limit >= least)
    if gas_limit >= least:
        start(payload(l1))
