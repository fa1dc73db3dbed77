"""`eth_simulateV1`: execute calls in simulated blocks on top of a block of the chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import Checks, ExecutionResult, Rules, TxEnv, execute
from entresol.errors import (
    BlockFull,
    ExecutionFailed,
    InvalidOverride,
    InvalidTransaction,
    MalformedValue,
    SimulatedCallRejected,
    SimulationGasSpent,
)
from entresol.execution.block_executor import BlockExecutor, ExecutedBlock, ParentBlock
from entresol.execution.call import overrides
from entresol.execution.call.call import CallRequest
from entresol.execution.call.limits import DEFAULT_LIMITS, CallBudget, CallLimits
from entresol.execution.evm_env import BlockEnv, State, tx_env_of
from entresol.execution.reverts import failure_of
from entresol.execution.simulate.plan import BlockCalls, PlannedBlock, plan
from entresol.execution.simulate.transfers import TRANSFER_TRACER, logs_with_transfers
from entresol.execution.simulate.unsigned import unsigned
from entresol.primitives.headers import ForkFields, Header
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Hash32
from entresol.state.state_trie import StateTrie

if TYPE_CHECKING:
    from entresol._native import Log

# The sender may be a contract, since nothing is signed; `validation` decides about the other checks.
_VALIDATING: Final = Checks(sender_code=False)
_LENIENT: Final = Checks(base_fee=False, nonce=False, sender_code=False, gas_cap=False)


class SimulationBase(msgspec.Struct, frozen=True, kw_only=True):
    """The block that a simulation builds on, and the rules of its chain."""

    header: Header
    state: State
    rules: Rules
    trie: StateTrie
    next_base_fee: Callable[[Header], int]
    fork_fields: Callable[[Header], ForkFields] = lambda _parent: ForkFields()
    interval: int = 1
    """The seconds between blocks, unless a block overrides its time."""


class SimulationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Whether transactions are validated, and whether ETH transfers appear among the logs."""

    validation: bool = False
    trace_transfers: bool = False


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call; its logs contain ETH transfers if they were requested."""

    output: bytes
    gas_used: int
    gas_spent: int
    logs: tuple[Log, ...]
    failure: ExecutionFailed | None


class SimulatedBlock(msgspec.Struct, frozen=True):
    """A simulated block and the results of its calls."""

    executed: ExecutedBlock
    results: tuple[CallResult, ...]


def simulate(
    base: SimulationBase,
    blocks: Sequence[BlockCalls],
    options: SimulationOptions = SimulationOptions(),  # noqa: B008  # frozen
    limits: CallLimits = DEFAULT_LIMITS,
) -> list[SimulatedBlock]:
    """Execute the calls of `blocks` in order, each on the state that the previous one left.

    The gas cap of `limits` applies to all calls together. A failed call is a result; a call that no block
    could include ends the simulation with `SimulatedCallRejected`.
    """
    run = _Simulation(base, options, limits)
    return [run.block(it) for it in plan(base.header, blocks, interval=base.interval)]


class _Simulation:
    """A running simulation: its current state, and what is left of its limits."""

    def __init__(
        self, base: SimulationBase, options: SimulationOptions, limits: CallLimits
    ) -> None:
        self._base = base
        self._options = options
        self._budget = CallBudget(limits)
        self._gas_cap = limits.gas_cap
        self._gas_left = limits.gas_cap
        self._parent = base.header
        self._state = base.state
        self._hashes: dict[int, Hash32] = {}

    def block(self, planned: PlannedBlock) -> SimulatedBlock:
        """Simulate one block on top of the previous one."""
        executor = self._begin(planned)
        if planned.requested.accounts:
            overrides.apply(executor.overlay, planned.requested.accounts)
        results = []
        for number, request in enumerate(planned.requested.calls):
            try:
                results.append(self._call(executor, request))
            except (InvalidTransaction, BlockFull) as error:
                position = f"blockStateCalls[{planned.index}].calls[{number}]"
                raise SimulatedCallRejected(position, error) from error
        self._budget.left()
        executed = executor.finish(self._base.trie)
        self._parent, self._state = executed.header, executed.overlay
        self._hashes[executed.header.number] = executed.header.hash()
        return SimulatedBlock(executed, tuple(results))

    def _begin(self, planned: PlannedBlock) -> BlockExecutor:
        """Return an executor for the block."""
        # The overlay holds all changes since the base block, so its root is updated from the base's.
        parent = ParentBlock(self._parent.hash(), self._base.header.state_root)
        try:
            executor = BlockExecutor(self._base.rules, self._state, self._env(planned), parent)
            executor.begin()
        except OverflowError as error:
            raise InvalidOverride(f"block {planned.number} cannot be simulated: {error}") from error
        return executor

    def _env(self, planned: PlannedBlock) -> BlockEnv:
        """Return the block environment; BLOCKHASH returns simulated blocks too."""
        moved = overrides.precompiles_after(planned.requested.accounts or {}, self._base.rules)
        validates = self._options.validation
        env = BlockEnv(
            number=planned.number,
            timestamp=planned.timestamp,
            gas_limit=self._parent.gas_limit,
            base_fee=self._base.next_base_fee(self._parent) if validates else 0,
            block_hashes=dict(self._hashes),
            precompiles=moved or None,
            fork_fields=self._base.fork_fields(self._parent),
        )
        # `plan` has applied number and time; a simulation ignores overrides of block hashes and difficulty.
        requested = msgspec.structs.replace(
            planned.requested.block, number=None, time=None, block_hash=None, difficulty=None
        )
        return overrides.override_block(env, requested)

    def _call(self, executor: BlockExecutor, request: CallRequest) -> CallResult:
        rules = self._base.rules
        account = executor.overlay.account(request.sender)
        nonce = 0 if account is None else account.nonce
        transaction = unsigned(request, rules, nonce=nonce, gas=self._gas(executor, request))
        result = execute(
            executor.overlay,
            rules,
            executor.env.native,
            _tx_env_of(transaction),
            checks=_VALIDATING if self._options.validation else _LENIENT,
            limits=self._budget.left(),
            tracer=TRANSFER_TRACER if self._options.trace_transfers else None,
        )
        self._budget.spend(result)
        self._gas_left = max(0, self._gas_left - result.gas_used)
        executor.include(transaction, result)
        return self._result(result)

    def _gas(self, executor: BlockExecutor, request: CallRequest) -> int:
        """Return the gas limit of a call: the one it names, or what block and cap have left."""
        if self._gas_left == 0:
            raise SimulationGasSpent(self._gas_cap)
        left = executor.gas_left
        if request.gas is not None:
            if request.gas > left:
                raise BlockFull(request.gas, left)
            return min(request.gas, self._gas_left)
        cap = self._base.rules.transaction_gas_limit
        if self._options.validation and cap is not None:
            left = min(left, cap)
        return min(left, self._gas_left)

    def _result(self, result: ExecutionResult) -> CallResult:
        failure = failure_of(result)
        logs = tuple(result.logs)
        if result.trace is not None:
            logs = logs_with_transfers(result.trace)
        return CallResult(
            # The data of a revert is part of its error.
            output=result.output if failure is None else b"",
            gas_used=result.gas_used,
            gas_spent=max(result.gas_spent, result.gas_used),
            logs=logs if failure is None else (),
            failure=failure,
        )


def _tx_env_of(transaction: Transaction) -> TxEnv:
    """Return the `TxEnv`; a number that a transaction can encode may still be too large for the engine."""
    try:
        return tx_env_of(transaction)
    except (OverflowError, ValueError) as error:
        raise MalformedValue("a number of the call is too large for a transaction") from error
