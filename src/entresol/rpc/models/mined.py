"""Blocks that a request sealed, with what their transactions returned."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, TypeAlias, get_args

import msgspec
from msgspec import UNSET, UnsetType

from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.model import says
from entresol.rpc.models.chain_objects import BlockSummary, TransactionBase, TransactionInfo

Output: TypeAlias = Annotated[Data, says("What it returned, or reverted with.")]
RevertReason: TypeAlias = Annotated[str | UnsetType, says("Why it failed, if it did.")]


def _mined(kind: type[TransactionBase]) -> type[msgspec.Struct]:
    """Return the model of sealed transactions of a type."""
    tag = kind.__struct_config__.tag
    return msgspec.defstruct(
        f"Mined{kind.__name__.removesuffix('Info')}",
        [("output", Output), ("revert_reason", RevertReason, UNSET)],
        bases=(kind,),
        namespace={"__doc__": f"A sealed transaction of type {tag}, with what it returned."},
        frozen=True,
        kw_only=True,
        tag=tag,
    )


if TYPE_CHECKING:
    MinedTransaction: TypeAlias = TransactionInfo
else:
    MinedTransaction = reduce(or_, map(_mined, get_args(TransactionInfo)))


class MinedBlock(BlockSummary, frozen=True, kw_only=True):
    """A block that the request sealed."""

    transactions: Annotated[list[MinedTransaction], says("Whole, with what they returned.")]
