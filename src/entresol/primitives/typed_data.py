"""Typed data (EIP-712): read a document as `eth_signTypedData_v4` takes it, and compute its signing hash."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from entresol._native import keccak256, typed_data_hash
from entresol.errors import MalformedValue
from entresol.primitives.values import Hash32

DOMAIN: Final = "EIP712Domain"

# Hashing more would block the event loop; `typed_data_hash` limits nesting and values.
MAX_TYPES: Final = 256

_DOMAIN_FIELDS: Final = (
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
)
_TYPE: Final = re.compile(r"[A-Za-z_$:][\w$:]*(\[[0-9]*\])*")

Members = tuple[tuple[str, str], ...]
"""The members of a struct type: name and type of each."""


class TypedData:
    """A document: struct types, primary type, domain and message."""

    def __init__(
        self, types: Mapping[str, Members], primary: str, domain: object, message: object
    ) -> None:
        self._types = types
        self._primary = primary
        self._domain = domain
        self._message = message

    @classmethod
    def parse(cls, document: object) -> TypedData:
        """Read a decoded JSON document; without `EIP712Domain`, the domain's type follows from its members."""
        parts = _object(document, None)
        domain = _object(parts.get("domain"), "domain")
        given = _object(parts.get("types"), "types")
        if len(given) > MAX_TYPES:
            raise MalformedValue(f"has at most {MAX_TYPES} types, got {len(given)}", field="types")
        types = {name: _members(members, f"types.{name}") for name, members in given.items()}
        present = tuple(member for member in _DOMAIN_FIELDS if member[0] in domain)
        types.setdefault(DOMAIN, present)
        primary = parts.get("primaryType")
        if not isinstance(primary, str) or primary not in types:
            raise MalformedValue("is the name of one of the types", field="primaryType")
        return cls(types, primary, domain, parts.get("message"))

    def signing_hash(self) -> Hash32:
        """Return the signing hash; raises `MalformedValue`, which names the member that is wrong."""
        return Hash32(typed_data_hash(self._types, self._primary, self._domain, self._message))


def personal_hash(message: bytes) -> Hash32:
    """Return the signing hash of plain bytes, which is that of no transaction (EIP-191)."""
    prefix = b"\x19Ethereum Signed Message:\n" + str(len(message)).encode()
    return Hash32(keccak256(prefix + message))


def _object(value: object, place: str | None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedValue("is an object", field=place)
    return value


def _members(value: object, place: str) -> Members:
    if not isinstance(value, list):
        raise MalformedValue("is an array of members", field=place)
    return tuple(_member(item, f"{place}[{index}]") for index, item in enumerate(value))


def _member(value: object, place: str) -> tuple[str, str]:
    parts = _object(value, place)
    name, kind = parts.get("name"), parts.get("type")
    if not isinstance(name, str) or not isinstance(kind, str):
        raise MalformedValue("has a name and a type", field=place)
    if _TYPE.fullmatch(kind) is None:
        raise MalformedValue(f"{kind[:70]!r} is not a type", field=place)
    return name, kind
