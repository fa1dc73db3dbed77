"""What the models of results have in common."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from entresol.primitives.values import Data, Hash32
from entresol.rpc.jsonrpc.codec import JsonModel


class ResultModel(JsonModel, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object of a response: it has all members without a default, and no others than these.

    A member that may be missing is declared `T | UnsetType = UNSET`, and one that may be null `T | None`.
    """


HashText: TypeAlias = Annotated[str, Meta(title=Hash32.__name__, pattern="^0x[0-9a-f]{64}$")]
DataText: TypeAlias = Annotated[str, Meta(title=Data.__name__, pattern="^0x([0-9a-f]{2})*$")]
"""Values where an object may be instead: msgspec tells text from objects, but not values of our own."""


def says(text: str) -> Meta:
    """Return the annotation that says what a member is, where its name does not."""
    return Meta(description=text)
