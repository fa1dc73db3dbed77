"""`eth_call` and its kin: estimates, access lists, bundles of calls, and simulated blocks of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import UNSET, Raw, UnsetType

from entresol._native import Snapshot
from entresol.chain.finality import BlockTag
from entresol.errors import (
    BlockNotFound,
    DuplicatePrecompileMove,
    ExecutionFailed,
    ExecutionReverted,
    InvalidOverride,
    InvalidParams,
    InvalidSimulation,
    InvalidTransaction,
    PrecompileMovedToSelf,
    SimulatedCallRejected,
    SimulatedNumberTooLow,
    SimulatedTimeTooLow,
    SimulationTooLong,
    UnknownBlock,
    UnserializableCall,
)
from entresol.execution.calls import (
    NEVER,
    BundledResult,
    Unfunded,
    call,
    call_many,
    create_access_list,
    estimate_gas,
    estimate_l1_to_l2_gas,
)
from entresol.execution.console import ConsoleCapture, ReportConsole
from entresol.execution.evm_env import EvmEnv
from entresol.execution.limits import CallLimits
from entresol.execution.overrides import override
from entresol.execution.simulation import simulate
from entresol.execution.tracing import SealedBlock
from entresol.offload import POLICY, Offload
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.models.chain_objects import SimulatedBlockInfo
from entresol.rpc.services.call_runner import past_simulation_base, simulation_base
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.number import Number
from entresol.rpc.types.simulation_request import (
    BlockOverride,
    BlockStateCalls,
    CallBundle,
    SimulationPayload,
    StateContext,
    StateOverrides,
    state_overrides,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner

_OF_CALL: Final = (UnknownBlock, ExecutionFailed, InvalidTransaction)


class AccessListEntry(JsonModel, frozen=True, kw_only=True):
    """An account, and the slots of it that a call touches."""

    address: Annotated[Address, says("The account.")]
    storage_keys: Annotated[list[Hash32], says("The slots of the account.")]


class AccessListResult(JsonModel, frozen=True, kw_only=True):
    """The access list of a call, the gas it uses with that list, and its error if it failed."""

    access_list: Annotated[list[AccessListEntry], says("The accounts and slots that it used.")]
    gas_used: Annotated[Quantity, says("The gas that it used.")]
    error: Annotated[str | UnsetType, says("Why the call failed; missing if it did not.")] = UNSET
    """Missing if the call succeeded, as in geth."""


class EthCalls:
    """Calls that change nothing."""

    prefix = "eth"

    def __init__(
        self,
        resolver: BlockResolver,
        runner: CallRunner,
        *,
        unfunded: Unfunded = NEVER,
        fails: bool = True,
        report_console: ReportConsole = lambda _method, _calls: None,
    ) -> None:
        self._resolver = resolver
        self._unfunded = unfunded
        self._fails = fails
        self._report_console = report_console
        self._is_short = runner.is_short
        self._run = runner.run
        self._run_with_overrides = runner.run_with_overrides

    @method(*_OF_CALL, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
    def call(
        self,
        transaction: CallObject,
        block: BlockId = LATEST,
        state_override: StateOverrides | None = None,
        block_override: BlockOverride | None = None,
    ) -> Data | Offload[Data]:
        """Execute a call on the state after a block, and return its output.

        With `--hardhat-call-failures false`, one that fails has a result, too: what it reverted with, or nothing.
        """
        console = ConsoleCapture("eth_call", self._report_console)
        return self._run_with_overrides(
            self._resolver.evm_env(block),
            state_override,
            block_override,
            lambda evm_env, limits: console.reporting(
                lambda limits: Data(self._call(evm_env, transaction, limits, console))
            )(limits),
            is_short=self._is_short(transaction),
        )

    @method(*_OF_CALL, UnserializableCall, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
    def estimate_gas(
        self,
        transaction: CallObject,
        block: BlockId = LATEST,
        state_override: StateOverrides | None = None,
        block_override: BlockOverride | None = None,
    ) -> Quantity | Offload[Quantity]:
        """Return an estimate of the gas that a transaction needs to succeed.

        For one of type 0x7f or 0xff, a priority transaction, as `zks_estimateGasL1ToL2`: at least what L1 demands.
        On the development L1, a transfer has an estimate even if its sender cannot pay for it, as in anvil. With
        `--hardhat-errors`, every transaction has.
        """
        console = ConsoleCapture("eth_estimateGas", self._report_console)
        return self._run_with_overrides(
            self._resolver.evm_env(block),
            state_override,
            block_override,
            lambda evm_env, limits: console.reporting(
                lambda limits: Quantity(self._estimate(evm_env, transaction, limits, console))
            )(limits),
            is_short=self._is_short(transaction),
        )

    @method(UnknownBlock, InvalidTransaction, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
    def create_access_list(
        self, transaction: CallObject, block: BlockId = LATEST
    ) -> Annotated[Raw, AccessListResult] | Offload[Raw]:
        """Return an access list for a transaction, and the gas it uses with it."""
        evm_env = self._resolver.evm_env(block)

        def run(limits: CallLimits) -> Raw:
            return Raw(create_access_list(evm_env, transaction.request(), limits).json())

        return self._run(run, is_short=self._is_short(transaction))

    def _call(
        self, evm_env: EvmEnv, transaction: CallObject, limits: CallLimits, console: ConsoleCapture
    ) -> bytes:
        try:
            return call(evm_env, transaction.request(), limits, console)
        except ExecutionFailed as failure:
            if self._fails:
                raise
            return failure.data if isinstance(failure, ExecutionReverted) else b""

    def _estimate(
        self, evm_env: EvmEnv, transaction: CallObject, limits: CallLimits, console: ConsoleCapture
    ) -> int:
        if transaction.is_priority:
            priority = transaction.priority_transaction(evm_env.block.base_fee)
            return estimate_l1_to_l2_gas(evm_env, priority, limits)
        return estimate_gas(
            evm_env, transaction.request(), limits, unfunded=self._unfunded, console=console
        ).gas


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


class EthSimulate:
    """Simulated blocks."""

    prefix = "eth"

    def __init__(self, chain: Chain, resolver: BlockResolver, runner: CallRunner) -> None:
        self._chain = chain
        self._resolver = resolver
        self._runner = runner

    @method(
        *(InvalidSimulation, InvalidOverride, BlockNotFound, SimulatedCallRejected),
        *(SimulatedNumberTooLow, SimulatedTimeTooLow, PrecompileMovedToSelf),
        *(DuplicatePrecompileMove, SimulationTooLong, InvalidParams),
        served_by=ServedBy.BLOCK,
        past=Past.EXECUTE,
    )
    def simulate_v1(
        self, payload: SimulationPayload, block: BlockId = LATEST
    ) -> Annotated[Raw, list[SimulatedBlockInfo]] | Offload[Raw]:
        """Simulate blocks of calls on top of a block, and return them with the results of the calls."""
        past = self._resolver.past(block)
        if past is None:
            base = simulation_base(self._chain, self._resolver.inspected(block))
        else:
            base = past_simulation_base(self._chain, past)
        wanted = payload.block_state_calls or ()
        self._runner.check_calls(sum(len(block.calls or ()) for block in wanted))
        self._runner.check_block_overrides(*(block.block_overrides for block in wanted))
        overrides = self._runner.check_overrides(*(block.state_overrides for block in wanted))

        def run(limits: CallLimits) -> Raw:
            blocks = [block.block_calls() for block in wanted]
            return Raw(simulate(base, blocks, payload.options(), limits))

        is_short = overrides <= POLICY.overrides and _are_short(wanted)
        return self._runner.run(run, is_short=is_short)


def _are_short(wanted: Sequence[BlockStateCalls]) -> bool:
    """Say whether blocks may be simulated on the event loop; an override of a number adds empty ones before it."""
    calls = [call for block in wanted for call in block.calls or ()]
    return (
        len(wanted) + len(calls) <= POLICY.simulated_items
        and all(block.block_overrides is None for block in wanted)
        and all(_is_short(call) for call in calls)
    )


def _is_short(call: CallObject) -> bool:
    has_lists = call.access_list or call.authorization_list
    return not has_lists and call.data_size <= POLICY.data_bytes
