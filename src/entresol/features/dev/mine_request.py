"""The parameters of `evm_mine` and `evm_setIntervalMining`."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self

from entresol.errors import MalformedValue
from entresol.rpc.jsonrpc.codec import convert
from entresol.rpc.jsonrpc.model import JsonModel
from entresol.rpc.types.number import Number

_MILLISECONDS: Final = 1_000


class MineOptions(JsonModel, frozen=True, kw_only=True):
    """How many blocks to seal, and the timestamp of the first."""

    timestamp: Number | None = None
    blocks: Number | None = None


class MineRequest:
    """A timestamp, or an object of options."""

    __slots__ = ("options",)

    json_schema: ClassVar[dict[str, Any]] = {"type": ["object", "string", "integer"]}

    def __init__(self, options: MineOptions) -> None:
        self.options = options

    @classmethod
    def parse(cls, value: object) -> MineRequest:
        """Read either."""
        if isinstance(value, dict):
            return cls(convert(value, MineOptions))
        return cls(MineOptions(timestamp=Number.parse(value)))


class IntervalRequest:
    """A number of seconds, or the shortest and the longest time in milliseconds; both are stored in seconds."""

    __slots__ = ("longest", "shortest")

    json_schema: ClassVar[dict[str, Any]] = {"type": ["integer", "string", "array"]}

    def __init__(self, shortest: float, longest: float) -> None:
        self.shortest = shortest
        self.longest = longest

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read either."""
        if not isinstance(value, list):
            seconds = cls._seconds(Number.parse(value))
            return cls(seconds, seconds)
        if len(value) != 2:
            raise MalformedValue(
                "an interval is seconds, or an array of two numbers of milliseconds"
            )
        shortest, longest = (float(Number.parse(bound)) / _MILLISECONDS for bound in value)
        if shortest > longest:
            raise MalformedValue("the first number of an interval is at most the second")
        return cls(shortest, longest)

    @classmethod
    def _seconds(cls, number: int) -> float:
        return float(number)


class MillisecondsRequest(IntervalRequest):
    """A number of milliseconds, or the shortest and the longest time in milliseconds, as Hardhat takes them."""

    __slots__ = ()

    @classmethod
    def _seconds(cls, number: int) -> float:
        return float(number) / _MILLISECONDS
