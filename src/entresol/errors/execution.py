"""Errors of calls, simulations and the execution engine."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class ExecutionFailed(EntresolError):
    """A call ran, and failing is its answer."""


class ExecutionReverted(ExecutionFailed):
    """The execution gave up; `data` is what it said, `reason` what that means if it is known."""

    def __init__(self, data: bytes, reason: str | None = None) -> None:
        super().__init__(
            "execution reverted" if reason is None else f"execution reverted: {reason}"
        )
        self.data = data
        self.reason = reason


class ExecutionHalted(ExecutionFailed):
    """The execution broke a rule of the machine and lost all its gas."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CallGasSpent(ExecutionHalted):
    """The call used all the gas that this node lets a call have."""

    def __init__(self, cap: int) -> None:
        super().__init__(f"out of gas: a call may use {cap:d} gas")
        self.cap = cap


class GasAllowanceExceeded(ExecutionFailed):
    """The execution runs out of gas even at the highest gas limit that is allowed."""

    def __init__(self, allowance: int) -> None:
        super().__init__(f"gas required exceeds allowance ({allowance:d})")
        self.allowance = allowance


class MintOverflow(ExecutionFailed):
    """A request needs more ether on L2 than there can be."""

    def __init__(self) -> None:
        super().__init__("integer overflow computing base token amount to mint")


class UnserializableCall(EntresolError):
    """No transaction can be made of a call."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"Failed to serialize transaction: {problem}")


class InvalidOverride(EntresolError):
    """A what-if question assumes something that cannot be."""


class TooManyOverrides(InvalidOverride):
    """A question assumes more accounts, or more slots, than it may; `place` is where it is too much."""

    def __init__(self, place: str, noun: str, count: int, limit: int) -> None:
        super().__init__(f"{place}: a question assumes at most {limit} {noun}, got {count}")
        self.place = place
        self.count = count
        self.limit = limit


class NotAPrecompile(InvalidOverride):
    """What a question wants to move is no precompile."""

    def __init__(self, address: bytes) -> None:
        super().__init__(f"account 0x{address.hex()} is not a precompile")


class PrecompileMovedToSelf(InvalidOverride):
    """A question wants to move a precompile to where it is."""

    def __init__(self, address: bytes) -> None:
        super().__init__(f"account 0x{address.hex()} is moved to itself")


class DuplicatePrecompileMove(InvalidOverride):
    """A question wants to move two precompiles to one address."""

    def __init__(self, address: bytes) -> None:
        super().__init__(f"two precompiles are moved to account 0x{address.hex()}")


class InvalidSimulation(EntresolError):
    """Blocks cannot be simulated as they are described."""


class EmptySimulation(InvalidSimulation):
    """A simulation has no blocks."""

    def __init__(self) -> None:
        super().__init__("empty input: blockStateCalls has no blocks")


class SimulatedNumberTooLow(InvalidSimulation):
    """The number of a simulated block is not above that of the block before it."""

    def __init__(self, number: int, last: int) -> None:
        super().__init__(f"block numbers must be in order: {number:d} <= {last:d}")


class SimulatedTimeTooLow(InvalidSimulation):
    """The timestamp of a simulated block is not after that of the block before it."""

    def __init__(self, timestamp: int, last: int) -> None:
        super().__init__(f"block timestamps must be in order: {timestamp:d} <= {last:d}")


class SimulationTooLong(InvalidSimulation):
    """A simulation has more blocks than allowed, with those that fill gaps."""

    def __init__(self, blocks: int, limit: int) -> None:
        super().__init__(f"too many blocks: {blocks:d}, and a simulation has at most {limit:d}")


class SimulationGasSpent(InvalidSimulation):
    """The calls of a simulation have used all the gas that they may use together."""

    def __init__(self, cap: int) -> None:
        super().__init__(f"the calls of a simulation may use {cap:d} gas together, and they have")


class SimulatedCallRejected(InvalidSimulation):
    """A simulated call could not be included in any block; the cause says why."""

    def __init__(self, place: str, reason: EntresolError) -> None:
        super().__init__(f"{place}: {reason}")
        self.reason = reason


class EngineError(EntresolError):
    """The engine could not finish, so nothing is known of the outcome."""


class StateUnavailable(EngineError):
    """The state source failed; its exception is the cause of this one."""


class EnginePanicked(EngineError):
    """The engine hit a bug of its own; the state is as it was before the call."""


class ExecutionStopped(EngineError):
    """A limit of the caller's was reached before the execution ended."""


class GasBudgetSpent(ExecutionStopped):
    """The execution used more gas than the caller wanted to spend on it here."""


class DeadlinePassed(ExecutionStopped):
    """The execution took longer than the caller allowed."""


class ExecutionCancelled(ExecutionStopped):
    """The caller raised the cancel flag."""


class TraceTooLarge(ExecutionStopped):
    """The trace outgrew the memory the caller allowed."""


class UnknownTracer(EntresolError):
    """No tracer has this name, or it rejects its options."""
