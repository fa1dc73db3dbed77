"""Errors of `eth_simulateV1`."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class InvalidSimulation(EntresolError):
    """The blocks of a simulation are invalid."""

    rpc_code = -32602


class EmptySimulation(InvalidSimulation):
    """A simulation without blocks."""

    def __init__(self) -> None:
        super().__init__("empty input: blockStateCalls has no blocks")


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
    """A simulation has more blocks than allowed, including those that fill gaps."""

    rpc_code = -38026

    def __init__(self, blocks: int, limit: int) -> None:
        super().__init__(f"too many blocks: {blocks:d}, and a simulation has at most {limit:d}")


class SimulationGasSpent(InvalidSimulation):
    """The calls of a simulation have used up their common gas cap."""

    rpc_code = -38026

    def __init__(self, cap: int) -> None:
        super().__init__(f"the calls of a simulation have used all of their {cap:d} gas")


class SimulatedCallRejected(InvalidSimulation):
    """A simulated call that no block could include; the cause is chained."""

    rpc_code = -32000

    def __init__(self, path: str, reason: EntresolError) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason
