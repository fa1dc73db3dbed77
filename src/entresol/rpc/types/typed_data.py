"""Typed data (EIP-712) as a parameter of `eth_signTypedData_v4`."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from entresol.errors import MalformedValue
from entresol.primitives.typed_data import TypedData


class TypedDataObject:
    """A typed document as clients send it: the object, or its JSON as a text."""

    __slots__ = ("signing_hash",)

    json_schema: ClassVar[dict[str, Any]] = {"type": ["object", "string"]}

    def __init__(self, document: TypedData) -> None:
        # Hashed here, so that whatever is wrong with it is named as a place in the parameters.
        self.signing_hash = document.signing_hash()

    @classmethod
    def parse(cls, value: object) -> TypedDataObject:
        """Read either form."""
        if isinstance(value, str):
            try:
                value = msgspec.json.decode(value)
            except (msgspec.DecodeError, RecursionError) as error:
                raise MalformedValue(f"the text is no JSON: {error}") from None
        return cls(TypedData.parse(value))
