"""Calls, estimates and access lists: questions that run code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from entresol.errors import ExecutionFailed, GasBudgetSpent, InvalidTransaction, UnknownBlock
from entresol.execution.access_lists import create_access_list
from entresol.execution.calls import CallLimits, call, within
from entresol.execution.estimation import estimate_gas
from entresol.execution.overrides import override
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.block_ref import LATEST, BlockRef
from entresol.rpc.call_objects import (
    BlockOverride,
    CallObject,
    StateOverrides,
    state_overrides,
)
from entresol.rpc.method import Later, method
from entresol.rpc.wire import Wire

if TYPE_CHECKING:
    from entresol.execution.scene import Scene
    from entresol.rpc.places import Places

T = TypeVar("T")

LOOP_GAS: Final = 200_000
"""What a question may use before it leaves the event loop: a fraction of a millisecond."""


class AccessListEntry(Wire, frozen=True, kw_only=True):
    """An account with the slots of it that a call touches."""

    address: Address
    storage_keys: list[Hash32]


class AccessListAnswer(Wire, frozen=True, kw_only=True):
    """What a call touches, what it uses with that declared, and how it failed if it did."""

    access_list: list[AccessListEntry]
    gas_used: Quantity
    error: str | None = None


class EthCalls:
    """Code that runs and leaves no trace."""

    prefix = "eth"

    def __init__(self, places: Places, limits: CallLimits | None = None) -> None:
        self._places = places
        self._limits = limits or CallLimits()
        self._on_loop = msgspec.structs.replace(self._limits, gas_budget=LOOP_GAS)

    @method(UnknownBlock, ExecutionFailed, InvalidTransaction)
    def call(
        self,
        transaction: CallObject,
        block: BlockRef = LATEST,
        state_override: StateOverrides | None = None,
        block_override: BlockOverride | None = None,
    ) -> Data | Later[Data]:
        """Return what a call gives back, run on the state after a block."""
        scene = self._scene(block, state_override, block_override)
        request = transaction.request()
        return self._ask(lambda limits: Data(call(scene, request, limits)))

    @method(UnknownBlock, ExecutionFailed, InvalidTransaction)
    def estimate_gas(
        self,
        transaction: CallObject,
        block: BlockRef = LATEST,
        state_override: StateOverrides | None = None,
        block_override: BlockOverride | None = None,
    ) -> Quantity | Later[Quantity]:
        """Return a gas limit with which a transaction succeeds, and hardly more than that."""
        scene = self._scene(block, state_override, block_override)
        request = transaction.request()
        return self._ask(lambda limits: Quantity(estimate_gas(scene, request, limits).gas))

    @method(UnknownBlock, InvalidTransaction)
    def create_access_list(
        self, transaction: CallObject, block: BlockRef = LATEST
    ) -> AccessListAnswer | Later[AccessListAnswer]:
        """Return the accounts and slots that a transaction touches, to be declared in it."""
        scene, request = self._places.scene(block), transaction.request()

        def answer(limits: CallLimits) -> AccessListAnswer:
            found = create_access_list(scene, request, limits)
            return AccessListAnswer(
                access_list=[
                    AccessListEntry(address=it.account, storage_keys=list(it.slots))
                    for it in found.access_list
                ],
                gas_used=Quantity(found.gas_used),
                error=None if found.error is None else str(found.error),
            )

        return self._ask(answer)

    def _scene(
        self,
        block: BlockRef,
        state_override: StateOverrides | None,
        block_override: BlockOverride | None,
    ) -> Scene:
        scene = self._places.scene(block)
        if not state_override and block_override is None:
            return scene
        return override(
            scene,
            state_overrides(state_override),
            None if block_override is None else block_override.override(),
        )

    def _ask(self, question: Callable[[CallLimits], T]) -> T | Later[T]:
        """Answer at once if that takes no time, or else on a worker thread."""
        try:
            return within(self._on_loop, question)
        except GasBudgetSpent:
            return Later(lambda: within(self._limits, question))
