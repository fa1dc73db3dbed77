"""Calls, estimates and their transaction environments, without a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from benchmarks.bench_engine import BALANCE_OF
from benchmarks.harness import Row, Target, best_seconds
from entresol._native import Rules, Snapshot
from entresol.execution.calls import CallRequest, call, estimate_gas
from entresol.execution.evm_env import BlockEnv, EvmEnv, tx_env_of
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address
from tests.support.evm.in_memory_state import ALICE, BOB, CONTRACT, InMemoryState
from tests.support.evm.programs import call_to, program, store, work

BLOCK: Final = BlockEnv(number=1, timestamp=1, gas_limit=30_000_000, base_fee=7)
SENDER, TO = Address(ALICE), Address(CONTRACT)
INNER: Final = b"\x1c" * 20


def rows() -> Iterable[Row]:
    """Measure what lies between a request and the engine."""
    yield message()
    yield warm_call()
    yield estimate()


def message() -> Row:
    """Measure the message of a transfer."""
    payload = FeeMarketTransaction(
        nonce=3,
        gas_limit=21_000,
        to=Address(BOB),
        value=10**15,
        chain_id=270,
        max_fee_per_gas=30,
        max_priority_fee_per_gas=4,
    )
    transaction = sign(payload, b"\x46" * 32)
    seconds = best_seconds(lambda: tx_env_of(transaction))
    return Row(what="message of a transfer", value=seconds * 1e6, unit="µs", target=_at_most(5))


def warm_call() -> Row:
    """Measure the most common call, from its request to its response."""
    evm_env = EvmEnv(Snapshot(InMemoryState.with_contract(BALANCE_OF)), Rules(270), BLOCK)
    data = bytes.fromhex("70a08231") + bytes(12) + ALICE
    assert len(call(evm_env, CallRequest(to=TO, data=data))) == 32
    seconds = best_seconds(lambda: call(evm_env, CallRequest(to=TO, data=data)))
    return Row(what="call of balanceOf, warm", value=seconds * 1e6, unit="µs", target=_at_most(25))


def estimate() -> Row:
    """Measure the estimate of a contract that calls another."""
    world = InMemoryState.with_contract(program([call_to(INNER), store(1, 1)]))
    world.deploy(INNER, program([work(100), store(1, 1)]))
    evm_env = EvmEnv(Snapshot(world), Rules(270), BLOCK)
    request = CallRequest(sender=SENDER, to=TO)
    seconds = best_seconds(lambda: estimate_gas(evm_env, request))
    return Row(what="estimate of a nested call", value=seconds * 1e6, unit="µs")


def _at_most(microseconds: float) -> Target:
    return Target(microseconds, "at most")
