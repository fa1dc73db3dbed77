"""Plain values that name something of a chain's history: what a fork may have to ask the chain below it for."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from entresol.primitives.values import Hash32, Quantity
from entresol.rpc.jsonrpc.method import Named
from entresol.rpc.types.number import Number

BlockHash: TypeAlias = Annotated[Hash32, Named.BLOCK_HASH]
TransactionHash: TypeAlias = Annotated[Hash32, Named.TRANSACTION]
BlockHeight: TypeAlias = Annotated[Number, Named.NUMBER]
FilterId: TypeAlias = Annotated[Quantity, Named.FILTER]
