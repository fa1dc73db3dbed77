"""Calls, estimates and access lists: questions that run code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Raw

from entresol.errors import ExecutionFailed, InvalidTransaction, UnknownBlock
from entresol.execution.call.access_list import create_access_list
from entresol.execution.call.call import call
from entresol.execution.call.estimate_gas import estimate_gas
from entresol.execution.call.limits import CallLimits
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.cache.calls import CallCache
from entresol.rpc.jsonrpc.codec import JsonModel, encode
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.offload import Offload
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.overrides import BlockOverride, StateOverrides

if TYPE_CHECKING:
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner


class AccessListEntry(JsonModel, frozen=True, kw_only=True):
    """An account with the slots of it that a call touches."""

    address: Address
    storage_keys: list[Hash32]


class AccessListResult(JsonModel, frozen=True, kw_only=True):
    """What a call touches, what it uses with that declared, and how it failed if it did."""

    access_list: list[AccessListEntry]
    gas_used: Quantity
    error: str | None = None


class EthCalls:
    """Code that runs and leaves no trace."""

    prefix = "eth"

    def __init__(self, resolver: BlockResolver, runner: CallRunner) -> None:
        self._resolver = resolver
        self._run = runner.run
        self._run_with_overrides = runner.run_with_overrides
        self._answers = CallCache()

    @method(UnknownBlock, ExecutionFailed, InvalidTransaction)
    def call(
        self,
        transaction: CallObject,
        block: BlockId = LATEST,
        state_override: StateOverrides | None = None,
        block_override: BlockOverride | None = None,
    ) -> Annotated[Raw, Data] | Data | Offload[Data]:
        """Return what a call gives back, run on the state after a block."""
        evm_env = self._resolver.evm_env(block)
        if state_override or block_override is not None:
            request = transaction.request()
            return self._run_with_overrides(
                evm_env,
                state_override,
                block_override,
                lambda assumed, limits: Data(call(assumed, request, limits)),
            )
        if (known := self._answers.get(evm_env, transaction)) is not None:
            return known
        request = transaction.request()
        output = self._run(lambda limits: Data(call(evm_env, request, limits)))
        if isinstance(output, Offload):
            return output
        answer = Raw(encode(output))
        self._answers.put(evm_env, transaction, answer)
        return answer

    @method(UnknownBlock, ExecutionFailed, InvalidTransaction)
    def estimate_gas(
        self,
        transaction: CallObject,
        block: BlockId = LATEST,
        state_override: StateOverrides | None = None,
        block_override: BlockOverride | None = None,
    ) -> Quantity | Offload[Quantity]:
        """Return a gas limit with which a transaction succeeds, and hardly more than that."""
        request = transaction.request()
        return self._run_with_overrides(
            self._resolver.evm_env(block),
            state_override,
            block_override,
            lambda evm_env, limits: Quantity(estimate_gas(evm_env, request, limits).gas),
        )

    @method(UnknownBlock, InvalidTransaction)
    def create_access_list(
        self, transaction: CallObject, block: BlockId = LATEST
    ) -> AccessListResult | Offload[AccessListResult]:
        """Return the accounts and slots that a transaction touches, to be declared in it."""
        evm_env, request = self._resolver.evm_env(block), transaction.request()

        def answer(limits: CallLimits) -> AccessListResult:
            found = create_access_list(evm_env, request, limits)
            return AccessListResult(
                access_list=[
                    AccessListEntry(address=it.account, storage_keys=list(it.slots))
                    for it in found.access_list
                ],
                gas_used=Quantity(found.gas_used),
                error=None if found.error is None else str(found.error),
            )

        return self._run(answer)
