"""Many calls in one question, each on what the ones before it left."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from entresol._native import Snapshot
from entresol.chain.finality import BlockTag
from entresol.errors import InvalidOverride, UnknownBlock
from entresol.execution.call.bundle import BundledResult, call_many
from entresol.execution.call.limits import CallLimits, run_limited
from entresol.execution.call.overrides import override
from entresol.execution.evm_env import EvmEnv
from entresol.execution.replay import state_at_transaction
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.codec import JsonModel
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.offload import Offload
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.rpc.types.call_bundle import CallBundle, StateContext
from entresol.rpc.types.number import Number
from entresol.rpc.types.overrides import OverrideLimits, StateOverrides, state_overrides

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.rpc.services.block_resolver import BlockResolver

MILLISECONDS = 1_000


class CallManyResult(JsonModel, frozen=True, kw_only=True, omit_defaults=True):
    """What a call gives back, or why it gives nothing back."""

    value: Data | None = None
    error: str | None = None

    @classmethod
    def of(cls, ending: BundledResult) -> CallManyResult:
        """Return the result that says how a call ended."""
        if isinstance(ending, bytes):
            return cls(value=Data(ending))
        return cls(error=str(ending).encode(errors="replace").decode())


class EthCallMany:
    """Calls that build on each other."""

    prefix = "eth"

    def __init__(
        self,
        chain: Chain,
        resolver: BlockResolver,
        limits: CallLimits | None = None,
        overrides: OverrideLimits | None = None,
    ) -> None:
        self._chain = chain
        self._resolver = resolver
        self._limits = limits or CallLimits()
        self._overrides = overrides or OverrideLimits()

    @method(UnknownBlock, InvalidOverride)
    def call_many(
        self,
        bundles: list[CallBundle],
        state_context: StateContext | None = None,
        state_override: StateOverrides | None = None,
        timeout: Number | None = None,
    ) -> list[list[CallManyResult]] | Offload[list[list[CallManyResult]]]:
        """Return what calls give back that run one after another; `timeout` is in milliseconds."""
        context = state_context or StateContext()
        block, index = context.block_number or LATEST, context.transaction_index
        count = None if index is None else index.count
        stage = self._stage(block, count)
        self._overrides.check(state_override)

        def answer(limits: CallLimits) -> list[list[CallManyResult]]:
            wanted, accounts = [it.bundle() for it in bundles], state_overrides(state_override)
            endings = call_many(override(stage(), accounts), wanted, limits)
            return [[CallManyResult.of(it) for it in bundle] for bundle in endings]

        limits = self._limits_for(timeout)
        return Offload(lambda: run_limited(limits, answer))

    def _stage(self, block: BlockId, count: int | None) -> Callable[[], EvmEnv]:
        """Return what makes the scene behind the first `count` transactions of a block."""
        evm_env, blocks = self._resolver.evm_env(block), self._chain.blocks
        number = evm_env.block.number
        if count is None or number == 0 or block.tag is BlockTag.PENDING:
            return lambda: evm_env
        record, parent = blocks.record(number), blocks.header(number - 1)
        if count >= len(record.transactions):
            return lambda: evm_env
        rules, snapshot = evm_env.rules, self._chain.state_after(number - 1)
        # Edits are on top of the head alone, which is nobody's parent.
        assert isinstance(snapshot, Snapshot)

        def execute() -> EvmEnv:
            state = state_at_transaction(record, parent, count, rules=rules, snapshot=snapshot)
            return EvmEnv(state, rules, evm_env.block)

        return execute

    def _limits_for(self, timeout: int | None) -> CallLimits:
        """Return the limits, with less time if the client wants to wait less."""
        seconds = self._limits.seconds
        if timeout is None or (seconds is not None and timeout / MILLISECONDS >= seconds):
            return self._limits
        return msgspec.structs.replace(self._limits, seconds=timeout / MILLISECONDS)
