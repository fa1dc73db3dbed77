"""How long the event loop works for one call at most: each precompile and long instruction, with all gas of a call."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Final

from benchmarks.harness import Peer, Row, Target, best_seconds
from entresol._native import BlockEnv, Checks, Limits, Rules, Snapshot, TxEnv, execute
from entresol.errors import GasBudgetSpent
from entresol.execution.limits import DEFAULT_LIMITS
from entresol.offload import POLICY
from tests.support.evm.in_memory_state import ALICE, CONTRACT, InMemoryState
from tests.support.evm.long_programs import INSTRUCTIONS, PRECOMPILES, SHORT, Program

BLOCK: Final = BlockEnv(number=300, timestamp=1, gas_limit=1 << 40)
CHECKS: Final = Checks(base_fee=False, fees=False, nonce=False, sender_code=False, gas_cap=False)
ON_LOOP: Final = Limits(gas=POLICY.call_gas)
LOOP: Final = "a loop"
MOST_LOOPS: Final = 10.0
"""How many times longer than a loop of as much gas anything may take."""


def rows() -> Iterable[Row]:
    """Measure each program within what the event loop allows, beside an empty loop."""
    loop = _milliseconds(INSTRUCTIONS[LOOP])
    for name, program in (PRECOMPILES | INSTRUCTIONS | SHORT).items():
        yield Row(
            what=f"a call on the event loop, of {name}",
            value=_milliseconds(program),
            unit="ms",
            peer=Peer(LOOP, loop),
            target=Target(MOST_LOOPS * loop, "at most"),
        )


def _milliseconds(program: Program) -> float:
    world = InMemoryState.with_contract(program.code)
    message = TxEnv(sender=ALICE, to=CONTRACT, data=program.data, gas_limit=DEFAULT_LIMITS.gas_cap)
    return best_seconds(partial(_call, world, Rules(270, program.fork), message), calls=20) * 1e3


def _call(world: InMemoryState, rules: Rules, message: TxEnv) -> None:
    # A new state: nothing is cached.
    with suppress(GasBudgetSpent):
        execute(Snapshot(world), rules, BLOCK, message, checks=CHECKS, limits=ON_LOOP)
