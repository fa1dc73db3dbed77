"""The `entresol_` methods about the L2s of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

from entresol.errors import InvalidConfig, LayerOneFailed, ListenFailed, MalformedValue
from entresol.features.adding.errors import ChainNotAdded
from entresol.rpc.jsonrpc.codec import convert
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.model import JsonModel
from entresol.rpc.models.chain_entry import ChainEntry
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from collections.abc import Awaitable

_MAX_TEXT: Final = 64


class NewChainFields(JsonModel, frozen=True, kw_only=True):
    """A new chain as a client describes it."""

    chain_id: Number
    port: Number | None = None
    base_token: str | None = None
    base_token_ratio: str | int | float | None = None
    base_token_decimals: Number | None = None


class NewChain:
    """An L2 to add: its id, its port, and what pays for its gas."""

    json_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "chainId": Number.json_schema,
            "port": Number.json_schema,
            "baseToken": {"type": "string"},
            "baseTokenRatio": {"type": ["string", "number"]},
            "baseTokenDecimals": Number.json_schema,
        },
        "required": ["chainId"],
        "additionalProperties": False,
    }

    def __init__(self, fields: NewChainFields) -> None:
        self.fields = fields

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read an object, which has no other members."""
        if not isinstance(value, dict):
            raise MalformedValue("should be an object")
        unknown = next((name for name in value if name not in cls.json_schema["properties"]), None)
        if unknown is not None:
            names = ", ".join(cls.json_schema["properties"])
            raise MalformedValue(f"{unknown[:_MAX_TEXT]!r} is not one of {names}")
        return cls(convert(value, NewChainFields))


class ChainControl(Protocol):
    """Adds L2s to a node."""

    def add_chain(self, chain: NewChainFields) -> Awaitable[ChainEntry]:
        """Add an L2, and return where it is served."""


class EntresolChains:
    """Adds L2s to a running node."""

    prefix = "entresol"

    def __init__(self, control: ChainControl) -> None:
        self._control = control

    @method(
        *(ChainNotAdded, InvalidConfig, LayerOneFailed, ListenFailed, MalformedValue), waits=True
    )
    async def add_chain(self, chain: NewChain) -> ChainEntry:
        """Add an L2 to the node, on its development L1, and return what `--config-out` has of it.

        The owner of the Bridgehub registers it by transactions on L1. Its settings are those of the node, but for its id,
        its port, by default a free one, and its base token, by default ether: the symbol of one that another chain has,
        or the address of a token on L1. No account has funds there before somebody deposits some.
        """
        return await self._control.add_chain(chain.fields)
