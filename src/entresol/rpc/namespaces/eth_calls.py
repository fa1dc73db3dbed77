"""Calls, estimates and access lists: questions that run code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Raw

from entresol.errors import ExecutionFailed, InvalidTransaction, UnknownBlock
from entresol.execution.access_lists import create_access_list
from entresol.execution.calls import CallLimits, call
from entresol.execution.estimation import estimate_gas
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.block_ref import LATEST, BlockRef
from entresol.rpc.call_answers import CallAnswers
from entresol.rpc.call_objects import BlockOverride, CallObject, StateOverrides
from entresol.rpc.method import Later, method
from entresol.rpc.wire import Wire, encode

if TYPE_CHECKING:
    from entresol.rpc.places import Places
    from entresol.rpc.questions import Questions


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

    def __init__(self, places: Places, questions: Questions) -> None:
        self._places = places
        self._ask = questions.ask
        self._ask_assuming = questions.ask_assuming
        self._answers = CallAnswers()

    @method(UnknownBlock, ExecutionFailed, InvalidTransaction)
    def call(
        self,
        transaction: CallObject,
        block: BlockRef = LATEST,
        state_override: StateOverrides | None = None,
        block_override: BlockOverride | None = None,
    ) -> Annotated[Raw, Data] | Data | Later[Data]:
        """Return what a call gives back, run on the state after a block."""
        scene = self._places.scene(block)
        if state_override or block_override is not None:
            request = transaction.request()
            return self._ask_assuming(
                scene,
                state_override,
                block_override,
                lambda assumed, limits: Data(call(assumed, request, limits)),
            )
        if (known := self._answers.get(scene, transaction)) is not None:
            return known
        request = transaction.request()
        output = self._ask(lambda limits: Data(call(scene, request, limits)))
        if isinstance(output, Later):
            return output
        answer = Raw(encode(output))
        self._answers.put(scene, transaction, answer)
        return answer

    @method(UnknownBlock, ExecutionFailed, InvalidTransaction)
    def estimate_gas(
        self,
        transaction: CallObject,
        block: BlockRef = LATEST,
        state_override: StateOverrides | None = None,
        block_override: BlockOverride | None = None,
    ) -> Quantity | Later[Quantity]:
        """Return a gas limit with which a transaction succeeds, and hardly more than that."""
        request = transaction.request()
        return self._ask_assuming(
            self._places.scene(block),
            state_override,
            block_override,
            lambda scene, limits: Quantity(estimate_gas(scene, request, limits).gas),
        )

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
