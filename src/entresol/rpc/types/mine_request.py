"""The parameter of `evm_mine`."""

from __future__ import annotations

from typing import Any, ClassVar

from entresol.rpc.jsonrpc.codec import JsonModel, convert
from entresol.rpc.types.number import Number


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
