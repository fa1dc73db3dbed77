"""A value whose shape the request chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self


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
