"""Errors of executing calls and blocks, and of inspecting what was executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors.base import INTERNAL, EntresolError

if TYPE_CHECKING:
    from typing import Any


class NotInspectable(EntresolError):
    """The object to inspect is not there, or cannot be inspected."""

    # As in geth's debug_.
    rpc_code = -32000


class BlockNotFound(NotInspectable):
    """There is no block to inspect."""

    def __init__(self, block: int | bytes) -> None:
        name = f"#{block}" if isinstance(block, int) else f"0x{block.hex()}"
        super().__init__(f"block {name} not found")
        self.block = block


class TransactionNotFound(NotInspectable):
    """No block contains the transaction."""

    def __init__(self) -> None:
        super().__init__("transaction not found")


class ExecutionFailed(EntresolError):
    """An execution ended in failure."""

    rpc_code = -32000


class ExecutionReverted(ExecutionFailed):
    """The execution reverted; `data` is its output, and `reason` the decoded reason if it has one."""

    # As in zksync-era.
    rpc_code = 3

    def __init__(self, data: bytes, reason: str | None = None) -> None:
        super().__init__(
            "execution reverted" if reason is None else f"execution reverted: {reason}"
        )
        self.data = data
        self.reason = reason

    @property
    def rpc_data(self) -> str:
        """The revert data, even if it is empty."""
        return "0x" + self.data.hex()


class ExecutionHalted(ExecutionFailed):
    """The execution halted exceptionally and used all its gas."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CallGasSpent(ExecutionHalted):
    """A call ran out of gas at the gas cap of the node."""

    def __init__(self, cap: int) -> None:
        super().__init__(f"out of gas: a call may use {cap:d} gas")
        self.cap = cap


class GasAllowanceExceeded(ExecutionFailed):
    """The execution runs out of gas even at the highest allowed gas limit."""

    def __init__(self, allowance: int) -> None:
        super().__init__(f"gas required exceeds allowance ({allowance:d})")
        self.allowance = allowance


class MintOverflow(ExecutionFailed):
    """The amount to mint for a priority transaction overflows."""

    # As in zksync-era.
    rpc_code = 3

    def __init__(self) -> None:
        super().__init__("integer overflow computing base token amount to mint")


class UnserializableCall(EntresolError):
    """A call that cannot be encoded as a transaction."""

    # As in zksync-era.
    rpc_code = 3

    def __init__(self, problem: str) -> None:
        super().__init__(f"Failed to serialize transaction: {problem}")


class UnknownTracer(EntresolError):
    """There is no tracer with this name, or its options are invalid."""

    rpc_code = -32602


class InvalidOverride(EntresolError):
    """A state or block override is invalid."""

    rpc_code = -32602


class PrecompileMovedToSelf(InvalidOverride):
    """A precompile is moved to its own address."""

    rpc_code = -38022

    def __init__(self, address: bytes) -> None:
        super().__init__(f"account 0x{address.hex()} is moved to itself")


class DuplicatePrecompileMove(InvalidOverride):
    """Two precompiles are moved to the same address."""

    rpc_code = -38023

    def __init__(self, address: bytes) -> None:
        super().__init__(f"two precompiles are moved to account 0x{address.hex()}")


class InvalidSimulation(EntresolError):
    """The blocks of a simulation are invalid."""

    rpc_code = -32602


class SimulatedNumberTooLow(InvalidSimulation):
    """The number of a simulated block is not above that of the previous block."""

    rpc_code = -38020

    def __init__(self, number: int, last: int) -> None:
        super().__init__(f"block numbers must be in order: {number:d} <= {last:d}")


class SimulatedTimeTooLow(InvalidSimulation):
    """The timestamp of a simulated block is not above that of the previous block."""

    rpc_code = -38021

    def __init__(self, timestamp: int, last: int) -> None:
        super().__init__(f"block timestamps must be in order: {timestamp:d} <= {last:d}")


class SimulationTooLong(InvalidSimulation):
    """A simulation has more blocks than allowed, including those that fill gaps, or its calls use more gas."""

    rpc_code = -38026


class SimulatedCallRejected(InvalidSimulation):
    """A simulated call that no block could include; the cause is chained."""

    rpc_code = -32000

    def __init__(self, path: str, reason: EntresolError) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class EngineError(EntresolError):
    """The engine, or what it reads of the state, has failed, and the state is unchanged; the cause is chained."""

    rpc_code = INTERNAL


class StateMissing(EngineError):
    """A value of the remote chain below a fork is not known yet; nothing has changed.

    What may wait asks `table`, an `entresol._native.RemoteTable`, for `keys` and tries again. (Errors import nothing
    of the crate, whose exceptions they are.)
    """

    def __init__(self, table: Any, keys: tuple[Any, ...]) -> None:
        super().__init__("a value of the remote chain is not known yet")
        self.table = table
        self.keys = keys


class ExecutionStopped(EngineError):
    """The caller, or a limit of the caller, stopped the execution."""

    # Not -32603 or -32005: clients would try again at once and meet the same limit.
    rpc_code = -32000


class GasBudgetSpent(ExecutionStopped):
    """The execution exceeded the caller's gas budget."""

    def __init__(self, text: str = "the gas budget is spent") -> None:
        super().__init__(text)


class DeadlinePassed(ExecutionStopped):
    """The execution exceeded the caller's time limit."""

    def __init__(self, text: str = "the execution took too long") -> None:
        super().__init__(text)


class TraceTooLarge(ExecutionStopped):
    """The trace exceeded the caller's memory limit."""


class RemoteFailed(EntresolError):
    """Something that a fork needs of the remote chain is not there."""

    rpc_code = -32000


class RemoteTimeout(RemoteFailed):
    """The remote had not responded when the time for it was over; a retry may help."""

    def __init__(
        self, text: str = "the remote did not respond in time; see --fork-timeout"
    ) -> None:
        super().__init__(text)


class RemoteWaitOver(RemoteTimeout):
    """Work has waited for values of the remote for as long as it may: without one that came, or in all."""

    def __init__(
        self,
        host: str,
        key: tuple[Any, ...] | None,
        others: int,
        seconds: float,
        is_total: bool,  # noqa: FBT001  # the crate raises it
    ) -> None:
        missing = _described(key) + (f" and {others} other values" if others else "")
        if is_total:
            text = f"all that was needed in {seconds:g} seconds: {missing} did not come"
        else:
            text = f"a request for {missing} in {seconds:g} seconds"
        super().__init__(f"the remote {host} did not respond to {text}; see --fork-timeout")
        self.host = host
        self.is_total = is_total


def _described(key: tuple[Any, ...] | None) -> str:
    """Return what a key of a `RemoteTable` is of."""
    match key:
        case ("account", address):
            return f"the account 0x{bytes(address).hex()}"
        case ("slot", address, slot):
            return f"the slot 0x{bytes(slot).hex()} of account 0x{bytes(address).hex()}"
        case ("hash", number):
            return f"the hash of block {number}"
    return "its state"
