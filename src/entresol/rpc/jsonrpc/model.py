"""Models: the JSON objects of requests and responses, each declared once, with a sentence for each member."""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import msgspec
from msgspec import Meta

from entresol.errors import MalformedValue
from entresol.primitives.values import Data, Hash32


def camel(name: str) -> str:
    """Spell a Python name as JSON-RPC does: `block_number` is `blockNumber`, `from_` is `from`."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


def says(text: str) -> Meta:
    """Return the annotation that says what a member is."""
    return Meta(description=text)


class JsonModel(msgspec.Struct, rename=camel, frozen=True, kw_only=True):
    """A JSON object of a request or a response.

    Keys are the fields' names in camel case, and unknown keys are ignored. Clients send null for an omitted
    field, so an optional field is declared `T | None = None` and has no other default.
    """

    tag_meaning: ClassVar[str]
    """The sentence for the member by which the classes of a union are told apart."""


class ResultModel(JsonModel, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object of a response: it has all members without a default, and no others than these.

    A member that may be missing is declared `T | UnsetType = UNSET`, and one that may be null `T | None`.
    """


HashText: TypeAlias = Annotated[str, Meta(title=Hash32.__name__, pattern="^0x[0-9a-f]{64}$")]
DataText: TypeAlias = Annotated[str, Meta(title=Data.__name__, pattern="^0x([0-9a-f]{2})*$")]
"""Values where an object may be instead: msgspec tells text from objects, but not values of our own."""


class Choice:
    """A value whose shape the request chooses: no member tells the shapes apart."""

    __slots__ = ("value",)

    shapes: ClassVar[Mapping[str, Any]]
    """The types, each by what chooses it."""

    def __init__(self, value: object) -> None:
        self.value = value

    @classmethod
    def parse(cls, value: object) -> Self:
        """Take a JSON value as it is."""
        return cls(value)

    def to_json(self) -> object:
        """Return the JSON value."""
        return self.value


class ByteArray(bytes):
    """A byte string that is an array of numbers in JSON; hex digits are accepted as well."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read an array of numbers from 0 to 255, or hex digits with or without `0x`."""
        try:
            if isinstance(value, list):
                return cls(value)
            if isinstance(value, str):
                return cls(unhexlify(value.removeprefix("0x")))
        except (ValueError, TypeError):
            pass
        raise MalformedValue("bytes are an array of numbers from 0 to 255, or hex digits")

    def to_json(self) -> list[int]:
        """Return the numbers."""
        return list(self)
