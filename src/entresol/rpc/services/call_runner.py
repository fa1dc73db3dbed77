"""Run calls and estimates: on the event loop while they are cheap, else on a worker thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from entresol._native import Limits
from entresol.chain.blob_fees import BlobFees
from entresol.chain.mempool.validation import (
    ACCESSED_ACCOUNT_GAS,
    ACCESSED_SLOT_GAS,
    AUTHORIZATION_GAS,
)
from entresol.errors import GasBudgetSpent, IntrinsicGasTooLow, InvalidParams, StateMissing
from entresol.execution.limits import CallLimits, run_limited
from entresol.execution.overrides import override
from entresol.execution.simulation import SimulationBase
from entresol.offload import POLICY, Offload
from entresol.primitives.headers import EMPTY_TRIE
from entresol.rpc.types.simulation_request import OverrideLimits, state_overrides

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.execution.evm_env import EvmEnv
    from entresol.rpc.services.open_past import PastEnv
    from entresol.rpc.types.call_request import CallObject
    from entresol.rpc.types.simulation_request import BlockOverride, StateOverrides


T = TypeVar("T")

MAX_CALLS: Final = 10_000
"""How many calls one request may make."""
OVERRIDE_LIMITS: Final = OverrideLimits()
MAX_NAMED_SLOTS: Final = 1_024
"""How many storage slots one request may name: as many as geth proves for one."""


def check_slots(count: int) -> None:
    """Reject a request for more storage slots than allowed."""
    if count > MAX_NAMED_SLOTS:
        raise InvalidParams(f"too many slots (max {MAX_NAMED_SLOTS}): got {count}")


class CallRunner:
    """Runs calls within limits: with a small gas budget on the event loop, then on a worker thread."""

    def __init__(
        self, limits: CallLimits | None = None, is_budget_spent: Callable[[], bool] = lambda: False
    ) -> None:
        """Run calls within limits.

        `is_budget_spent` returns whether the call at hand was tried on the event loop already, and needs more gas than
        it may use there.
        """
        self._limits = limits or CallLimits()
        self._on_loop = msgspec.structs.replace(self._limits, gas_budget=POLICY.call_gas)
        self._is_budget_spent = is_budget_spent

    @property
    def gas_cap(self) -> int:
        """The maximum gas of a call."""
        return self._limits.gas_cap

    @property
    def loop_limits(self) -> Limits:
        """The limits of a call on the event loop, as the engine takes them."""
        return self._on_loop.native()

    def is_short(self, call: CallObject) -> bool:
        """Say whether a call may be built on the event loop; its lists are checked first."""
        return self.check_lists(call) <= POLICY.overrides and call.data_size <= POLICY.data_bytes

    def check_lists(self, call: CallObject) -> int:
        """Return how many entries the lists of a call have; reject those that alone exceed the gas cap."""
        accounts, authorizations = call.access_list or (), call.authorization_list or ()
        count = len(accounts) + len(authorizations)
        gas = ACCESSED_ACCOUNT_GAS * len(accounts) + AUTHORIZATION_GAS * len(authorizations)
        if gas <= self._limits.gas_cap:
            slots = sum(len(account.storage_keys or ()) for account in accounts)
            count, gas = count + slots, gas + ACCESSED_SLOT_GAS * slots
        if gas > self._limits.gas_cap:
            raise IntrinsicGasTooLow(self._limits.gas_cap, gas)
        return count

    def check_calls(self, count: int) -> None:
        """Reject too many calls in one request."""
        if count > MAX_CALLS:
            raise InvalidParams(f"too many calls (max {MAX_CALLS}): got {count}")

    def run(self, call: Callable[[CallLimits], T], *, is_short: bool = True) -> T | Offload[T]:
        """Return the result of a call, or the work for a worker; one that is not short is always such work."""
        if not is_short or self._is_budget_spent():
            return self.offload(call)
        try:
            return run_limited(self._on_loop, call)
        except (GasBudgetSpent, StateMissing):
            return self.offload(call)

    def offload(
        self, call: Callable[[CallLimits], T], max_seconds: float | None = None
    ) -> Offload[T]:
        """Return a call that is always work for a worker, with less time than usual if so wanted."""
        limits = self._limits
        if max_seconds is not None and (limits.seconds is None or max_seconds < limits.seconds):
            limits = msgspec.structs.replace(limits, seconds=max_seconds)
        return Offload(lambda: run_limited(limits, call))

    def check_overrides(self, *overrides: StateOverrides | None) -> int:
        """Reject too many overrides; return how many accounts and slots there are, and as many as code takes."""
        return OVERRIDE_LIMITS.check(*overrides)

    def check_block_overrides(self, *blocks: BlockOverride | None) -> int:
        """Reject too many overridden block hashes; return how many there are."""
        return OVERRIDE_LIMITS.check_blocks(*blocks)

    def run_with_overrides(
        self,
        evm_env: EvmEnv,
        accounts: StateOverrides | None,
        block: BlockOverride | None,
        call: Callable[[EvmEnv, CallLimits], T],
        *,
        is_short: bool = True,
    ) -> T | Offload[T]:
        """Return the result of a call with overrides, or the work for a worker."""
        size = self.check_overrides(accounts) + self.check_block_overrides(block)

        def overridden(limits: CallLimits) -> T:
            block_overrides = None if block is None else block.override()
            return call(override(evm_env, state_overrides(accounts), block_overrides), limits)

        return self.run(overridden, is_short=is_short and size <= POLICY.overrides)


def simulation_base(chain: Chain, number: int) -> SimulationBase:
    """Return a block with what its chain gives to those after it."""
    rules, header = chain.rules, chain.blocks.header(number)
    return SimulationBase(
        header=header,
        state=chain.state_after(number),
        rules=rules.evm_rules(),
        state_root=chain.state_trie.root(header.state_root),
        trie=chain.state_trie.native,
        next_base_fee=rules.fees.next,
        fork_fields=chain.ledger.blob_fees.fork_fields if rules.has_fork_fields else None,
    )


def past_simulation_base(chain: Chain, past: PastEnv) -> SimulationBase:
    """Return a block of the chain below a fork; roots are of what the simulation changes, as those of the fork are."""
    rules = chain.rules
    blobs = BlobFees(past.env.rules, has_fork_fields=rules.has_fork_fields)
    return SimulationBase(
        header=past.header,
        state=past.env.state,
        rules=past.env.rules,
        state_root=chain.state_trie.root(EMPTY_TRIE),
        trie=chain.state_trie.native,
        next_base_fee=rules.fees.next,
        fork_fields=blobs.fork_fields if rules.has_fork_fields else None,
    )
