"""Typed data: documents that people read before they sign them, hashed by their structure (EIP-712)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from entresol._native import keccak256
from entresol.errors import MalformedValue
from entresol.primitives.values import Address, Data, Hash32

DOMAIN: Final = "EIP712Domain"

# Nobody can read more, and hashing it would keep others waiting.
MAX_DEPTH: Final = 64
MAX_TYPES: Final = 256
MAX_VALUES: Final = 20_000

_DOMAIN_FIELDS: Final = (
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
)
_ARRAY: Final = re.compile(r"(.+)\[([0-9]*)\]")
_ATOM: Final = re.compile(r"(bool|address|string|bytes|(?:uint|int)[0-9]{0,3}|bytes[0-9]{1,2})")
_INTEGER: Final = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,64}|[0-9]{1,78})")
_TYPE_NAME: Final = re.compile(r"[A-Za-z_$:][\w$:]*")
_ZERO: Final = bytes(32)

Members = tuple[tuple[str, str], ...]
"""The members of a struct type: name and type of each."""


class TypedData:
    """A document: the types it uses, which of them it is, its domain and its content."""

    def __init__(
        self, types: Mapping[str, Members], primary: str, domain: object, message: object
    ) -> None:
        self._types = dict(types)
        self._type_hashes: dict[str, bytes] = {}
        self._values = 0
        self._primary = primary
        self._domain = domain
        self._message = message

    @classmethod
    def parse(cls, document: object) -> TypedData:
        """Read a decoded JSON document; a domain whose type is not given has the members it has."""
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
        """Return the digest that is signed."""
        self._values = 0
        content = b"\x19\x01" + self._struct(DOMAIN, self._domain, "domain", 0)
        if self._primary != DOMAIN:
            content += self._struct(self._primary, self._message, "message", 0)
        return Hash32(keccak256(content))

    def _struct(self, name: str, value: object, place: str, depth: int) -> bytes:
        content = _object(value, place)
        words = [self._type_hash(name)]
        for member, kind in self._types[name]:
            where = f"{place}.{member}"
            words.append(self._word(kind, content.get(member), where, depth + 1))
        return keccak256(b"".join(words))

    def _word(self, kind: str, value: object, place: str, depth: int) -> bytes:
        """Return the 32 bytes that stand for a member in its struct."""
        if depth > MAX_DEPTH:
            raise MalformedValue(f"is nested deeper than {MAX_DEPTH} levels", field=place)
        self._values += 1
        if self._values > MAX_VALUES:
            raise MalformedValue(f"has more than {MAX_VALUES} values", field="message")
        if kind in self._types:
            return _ZERO if value is None else self._struct(kind, value, place, depth)
        if array := _ARRAY.fullmatch(kind):
            return self._array(array[1], array[2], value, place, depth)
        if value is None:
            if kind in {"string", "bytes"}:
                return _ZERO
            raise MalformedValue("is missing", field=place)
        return _atom(kind, value, place)

    def _array(self, kind: str, length: str, value: object, place: str, depth: int) -> bytes:
        if not isinstance(value, list):
            raise MalformedValue("is an array", field=place)
        if length and len(value) != int(length):
            raise MalformedValue(f"has {length} items, got {len(value)}", field=place)
        words = (
            self._word(kind, item, f"{place}[{index}]", depth + 1)
            for index, item in enumerate(value)
        )
        return keccak256(b"".join(words))

    def _type_hash(self, name: str) -> bytes:
        known = self._type_hashes.get(name)
        if known is None:
            known = self._type_hashes[name] = keccak256(self._type_text(name).encode())
        return known

    def _type_text(self, name: str) -> str:
        """Return how a struct type is written: itself, then all it refers to in alphabetical order."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                waiting += self._structs_in(current)
        return "".join(map(self._definition, (name, *sorted(found - {name}))))

    def _structs_in(self, name: str) -> list[str]:
        structs = []
        for member, kind in self._types[name]:
            core = kind.partition("[")[0]
            if core in self._types:
                structs.append(core)
            elif _ATOM.fullmatch(core) is None:
                raise MalformedValue(
                    f"there is no type {core[:70]}", field=f"types.{name}.{member}"
                )
        return structs

    def _definition(self, name: str) -> str:
        return f"{name}({','.join(f'{kind} {member}' for member, kind in self._types[name])})"


def personal_hash(message: bytes) -> Hash32:
    """Return the digest that is signed for plain bytes, which no transaction has (EIP-191)."""
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
    core, bracket, rest = kind.partition("[")
    if _TYPE_NAME.fullmatch(core) is None or not re.fullmatch(r"(\[[0-9]*\])*", bracket + rest):
        raise MalformedValue(f"{kind[:70]!r} is no type", field=place)
    return name, kind


def _atom(kind: str, value: object, place: str) -> bytes:
    """Return the word of a value that is neither a struct nor an array."""
    try:
        if kind == "string":
            return keccak256(_text(value))
        if kind == "bytes":
            return keccak256(Data.parse(value))
        if kind == "bool":
            return _bool(value)
        if kind == "address":
            return Address.parse(value).rjust(32, b"\0")
        if kind.startswith("bytes"):
            return _fixed_bytes(value, int(kind[5:]))
        return _integer(value, kind)
    except MalformedValue as error:
        raise MalformedValue(error.problem, field=place) from None


def _text(value: object) -> bytes:
    if not isinstance(value, str):
        raise MalformedValue("is a string")
    return value.encode(errors="surrogatepass")


def _bool(value: object) -> bytes:
    if not isinstance(value, bool):
        raise MalformedValue("is true or false")
    return int(value).to_bytes(32)


def _fixed_bytes(value: object, size: int) -> bytes:
    data = Data.parse(value)
    if not 1 <= size <= 32:
        raise MalformedValue(f"there is no type bytes{size}")
    if len(data) > size:
        raise MalformedValue(f"is at most {size} bytes, got {len(data)}")
    return data.ljust(32, b"\0")


def _integer(value: object, kind: str) -> bytes:
    """Return a number, which may be a JSON number or a text of decimal or hex digits."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value, 16 if "x" in value.lower() else 10)
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedValue("is a whole number")
    signed = kind.startswith("int")
    bits = int(kind.lstrip("uint") or 256)
    if bits % 8 or not 8 <= bits <= 256:
        raise MalformedValue(f"there is no type {kind}")
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    if not low <= value < high:
        raise MalformedValue(f"does not fit {kind}")
    return value.to_bytes(32, signed=signed)
