"""Running calls in blocks that follow a block of the chain, and never become part of it."""

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
from entresol.execution.call.call import DEFAULT_LIMITS, CallLimits, CallRequest, Meter
from entresol.execution.call.estimate_gas import MAX_TRANSACTION_GAS
from entresol.execution.evm_env import BlockEnv, State
from entresol.execution.reverts import failure_of
from entresol.execution.simulate.plan import BlockCalls, PlannedBlock, plan
from entresol.execution.simulate.transfers import TRANSFER_TRACER, logs_with_transfers
from entresol.execution.simulate.unsigned import unsigned
from entresol.execution.tx_env import tx_env_of
from entresol.primitives.headers import Header
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Hash32
from entresol.state.state_trie import StateTrie

if TYPE_CHECKING:
    from entresol._native import Log

# A contract may send, for nobody signs anything; what else there is to check, validation decides.
_VALIDATING: Final = Checks(sender_code=False)
_LENIENT: Final = Checks(base_fee=False, nonce=False, sender_code=False, gas_cap=False)


class SimulationBase(msgspec.Struct, frozen=True, kw_only=True):
    """The block that a simulation starts from, and the rules of its chain."""

    header: Header
    state: State
    rules: Rules
    trie: StateTrie
    next_base_fee: Callable[[Header], int]
    interval: int = 1
    """The seconds from one block to the next, if nothing else is said."""


class SimulationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to simulate: like a chain that validates, and with transfers of ether among the logs."""

    validation: bool = False
    trace_transfers: bool = False


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended; its logs have the transfers in them, if they were asked for."""

    output: bytes
    gas_used: int
    gas_spent: int
    logs: tuple[Log, ...]
    failure: ExecutionFailed | None


class SimulatedBlock(msgspec.Struct, frozen=True):
    """A block that might have been."""

    executed: ExecutedBlock
    results: tuple[CallResult, ...]


def simulate(
    base: SimulationBase,
    blocks: Sequence[BlockCalls],
    options: SimulationOptions = SimulationOptions(),  # noqa: B008  # frozen
    limits: CallLimits = DEFAULT_LIMITS,
) -> list[SimulatedBlock]:
    """Run the calls of `blocks` one after another, each on what the ones before it left.

    The gas cap of `limits` is for all calls together. A call that fails is a result like another; one
    that no block could include ends the simulation with `SimulatedCallRejected`.
    """
    run = _Simulation(base, options, limits)
    return [run.block(it) for it in plan(base.header, blocks, interval=base.interval)]


class _Simulation:
    """A simulation under way: where it stands, and what is left of its limits."""

    def __init__(
        self, base: SimulationBase, options: SimulationOptions, limits: CallLimits
    ) -> None:
        self._base = base
        self._options = options
        self._meter = Meter(limits)
        self._gas_cap = limits.gas_cap
        self._gas_left = limits.gas_cap
        self._parent = base.header
        self._state = base.state
        self._hashes: dict[int, Hash32] = {}

    def block(self, planned: PlannedBlock) -> SimulatedBlock:
        """Run one block, and stand behind it."""
        transition = self._begin(planned)
        if planned.wanted.accounts:
            overrides.apply(transition.overlay, planned.wanted.accounts)
        results = []
        for number, request in enumerate(planned.wanted.calls):
            try:
                results.append(self._call(transition, request))
            except (InvalidTransaction, BlockFull) as error:
                place = f"blockStateCalls[{planned.index}].calls[{number}]"
                raise SimulatedCallRejected(place, error) from error
        self._meter.left()
        executed = transition.finish(self._base.trie)
        self._parent, self._state = executed.header, executed.overlay
        self._hashes[executed.header.number] = executed.header.hash()
        return SimulatedBlock(executed, tuple(results))

    def _begin(self, planned: PlannedBlock) -> BlockExecutor:
        """Return a block without calls."""
        # The overlay keeps the changes since the base, so the root follows from the base's.
        parent = ParentBlock(self._parent.hash(), self._base.header.state_root)
        try:
            return BlockExecutor(self._base.rules, self._state, self._env(planned), parent)
        except OverflowError as error:
            raise InvalidOverride(f"no block {planned.number} is like that: {error}") from error

    def _env(self, planned: PlannedBlock) -> BlockEnv:
        """Return the block as calls see it; BLOCKHASH knows the simulated ones."""
        moved = overrides.precompiles_after(planned.wanted.accounts or {}, self._base.rules)
        validates = self._options.validation
        env = BlockEnv(
            number=planned.number,
            timestamp=planned.timestamp,
            gas_limit=self._parent.gas_limit,
            base_fee=self._base.next_base_fee(self._parent) if validates else 0,
            block_hashes=dict(self._hashes),
            precompiles=moved or None,
        )
        # `plan` has settled number and time; a simulation has no block hashes or difficulty of choice.
        wanted = msgspec.structs.replace(
            planned.wanted.block, number=None, time=None, block_hash=None, difficulty=None
        )
        return overrides.override_block(env, wanted)

    def _call(self, transition: BlockExecutor, request: CallRequest) -> CallResult:
        rules = self._base.rules
        account = transition.overlay.account(request.sender)
        nonce = 0 if account is None else account.nonce
        transaction = unsigned(request, rules, nonce=nonce, gas=self._gas(transition, request))
        outcome = execute(
            transition.overlay,
            rules,
            transition.env.native,
            _message_of(transaction),
            checks=_VALIDATING if self._options.validation else _LENIENT,
            limits=self._meter.left(),
            tracer=TRANSFER_TRACER if self._options.trace_transfers else None,
        )
        self._meter.count(outcome)
        self._gas_left = max(0, self._gas_left - outcome.gas_used)
        transition.include(transaction, outcome)
        return self._result(outcome)

    def _gas(self, transition: BlockExecutor, request: CallRequest) -> int:
        """Return the gas limit of a call: what it names, or what the block and the cap have left."""
        if self._gas_left == 0:
            raise SimulationGasSpent(self._gas_cap)
        left = transition.gas_left
        if request.gas is not None:
            if request.gas > left:
                raise BlockFull(request.gas, left)
            return min(request.gas, self._gas_left)
        if self._options.validation and self._base.rules.fork == "osaka":
            left = min(left, MAX_TRANSACTION_GAS)
        return min(left, self._gas_left)

    def _result(self, outcome: ExecutionResult) -> CallResult:
        failure = failure_of(outcome)
        logs = tuple(outcome.logs)
        if outcome.trace is not None:
            logs = logs_with_transfers(outcome.trace)
        return CallResult(
            # What a revert says is told with its error.
            output=outcome.output if failure is None else b"",
            gas_used=outcome.gas_used,
            gas_spent=max(outcome.gas_spent, outcome.gas_used),
            logs=logs if failure is None else (),
            failure=failure,
        )


def _message_of(transaction: Transaction) -> TxEnv:
    """Return what the engine runs; numbers that a transaction encodes may still be too large for it."""
    try:
        return tx_env_of(transaction)
    except (OverflowError, ValueError) as error:
        raise MalformedValue("a number of the call is too large for a transaction") from error
