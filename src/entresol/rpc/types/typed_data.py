"""Typed data (EIP-712) as a parameter of `eth_signTypedData_v4`."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from entresol.errors import MalformedValue
from entresol.primitives.typed_data import TypedData


class TypedDataObject:
    """Typed data as clients send it: an object, or its JSON as a string."""

    __slots__ = ("signing_hash",)

    json_schema: ClassVar[dict[str, Any]] = {"type": ["object", "string"]}

    def __init__(self, document: TypedData) -> None:
        # Hashed here, so that an error has a path in the parameters.
        self.signing_hash = document.signing_hash()

    @classmethod
    def parse(cls, value: object) -> TypedDataObject:
        """Read either."""
        if isinstance(value, str):
            try:
                value = msgspec.json.decode(value)
            except (msgspec.DecodeError, RecursionError) as error:
                raise MalformedValue(f"the text is no JSON: {error}") from None
        return cls(TypedData.parse(value))
