"""`eth_callMany`: bundles of calls, each on the state that the ones before it left."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from entresol._native import Snapshot
from entresol.chain.finality import BlockTag
from entresol.errors import InvalidOverride, InvalidParams, UnknownBlock
from entresol.execution.calls import BundledResult, call_many
from entresol.execution.overrides import override
from entresol.execution.tracing import SealedBlock
from entresol.offload import Offload
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.rpc.types.number import Number
from entresol.rpc.types.simulation_request import (
    CallBundle,
    StateContext,
    StateOverrides,
    state_overrides,
)

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.execution.evm_env import EvmEnv
    from entresol.execution.limits import CallLimits
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner


class CallManyResult(JsonModel, frozen=True, kw_only=True, omit_defaults=True):
    """The return data of a call, or its error."""

    value: Annotated[Data | None, says("What the call returned, if it did not fail.")] = None
    error: Annotated[str | None, says("Why the call failed, if it did.")] = None

    @classmethod
    def of(cls, result: BundledResult) -> CallManyResult:
        """Return the result of a call."""
        if isinstance(result, bytes):
            return cls(value=Data(result))
        return cls(error=str(result).encode(errors="replace").decode())


class EthCallMany:
    """Calls that build on each other's state."""

    prefix = "eth"

    def __init__(self, chain: Chain, resolver: BlockResolver, runner: CallRunner) -> None:
        self._chain = chain
        self._resolver = resolver
        self._runner = runner

    @method(
        UnknownBlock, InvalidOverride, InvalidParams, served_by=ServedBy.BLOCK, past=Past.EXECUTE
    )
    def call_many(
        self,
        bundles: list[CallBundle],
        state_context: StateContext | None = None,
        state_override: StateOverrides | None = None,
        timeout: Number | None = None,
    ) -> list[list[CallManyResult]] | Offload[list[list[CallManyResult]]]:
        """Execute bundles of calls one after another, and return their results; `timeout` is in milliseconds."""
        self._runner.check_calls(sum(len(bundle.transactions) for bundle in bundles))
        self._runner.check_block_overrides(*(bundle.block_override for bundle in bundles))
        context = state_context or StateContext()
        block, index = context.block_number or LATEST, context.transaction_index
        count = None if index is None else index.count
        evm_env = self._env_within(block, count)
        self._runner.check_overrides(state_override)

        def run(limits: CallLimits) -> list[list[CallManyResult]]:
            wanted = [bundle.bundle() for bundle in cooperatively(bundles)]
            accounts = state_overrides(state_override)
            results = call_many(override(evm_env(), accounts), wanted, limits)
            return [[CallManyResult.of(result) for result in bundle] for bundle in results]

        return self._runner.offload(run, None if timeout is None else timeout / 1_000)

    def _env_within(self, block: BlockId, count: int | None) -> Callable[[], EvmEnv]:
        """Return a function that builds the environment after the first `count` transactions of a block."""
        evm_env, blocks = self._resolver.evm_env(block), self._chain.blocks
        number, past = evm_env.block.number, self._resolver.past(block)
        if past is not None and past.sealed is not None and count is not None:
            sealed = past.sealed
            return lambda: sealed.env_before(min(count, len(sealed.record.transactions)))
        if (
            count is None
            or past is not None
            or number == blocks.first_number
            or block.tag is BlockTag.PENDING
        ):
            return lambda: evm_env
        record, parent = blocks.record(number), blocks.header(number - 1)
        if count >= len(record.transactions):
            return lambda: evm_env
        rules, snapshot = evm_env.rules, self._chain.state_after(number - 1)
        # Only the state after the head may be an overlay, and this is a parent.
        assert isinstance(snapshot, Snapshot)

        return lambda: SealedBlock(record, parent, rules, snapshot).env_before(count)
