"""`eth_call`, `eth_estimateGas` and `eth_createAccessList`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Raw, UnsetType

from entresol.errors import (
    ExecutionFailed,
    ExecutionReverted,
    InvalidTransaction,
    UnknownBlock,
    UnserializableCall,
)
from entresol.execution.calls import (
    NEVER,
    Unfunded,
    call,
    create_access_list,
    estimate_gas,
    estimate_l1_to_l2_gas,
)
from entresol.execution.console import ConsoleCapture, ReportConsole
from entresol.execution.evm_env import EvmEnv
from entresol.execution.limits import CallLimits
from entresol.offload import Offload
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.simulation_request import BlockOverride, StateOverrides

if TYPE_CHECKING:
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner


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

    @method(
        UnknownBlock,
        ExecutionFailed,
        InvalidTransaction,
        served_by=ServedBy.BLOCK,
        past=Past.EXECUTE,
    )
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

    @method(
        UnknownBlock,
        ExecutionFailed,
        InvalidTransaction,
        UnserializableCall,
        served_by=ServedBy.BLOCK,
        past=Past.EXECUTE,
    )
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
            evm_env,
            transaction.request(),
            limits,
            unfunded=self._unfunded,
            console=console,
        ).gas
