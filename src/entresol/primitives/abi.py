"""Contract ABI: encode and decode values by type strings such as `(address,uint256[])`.

Numbers are `int`, addresses and bytes are `bytes`. Arrays and tuples are lists or tuples; decoding returns tuples.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from entresol._native import AbiTuple, keccak256


def selector(signature: str) -> bytes:
    """Return the four-byte selector of a function or an error."""
    return keccak256(signature.encode())[:4]


def encode(types: str, values: list[Any] | tuple[Any, ...]) -> bytes:
    """Encode values by a tuple of types; raises `MalformedValue`, which names the value that is wrong."""
    return _parsed(types).encode(values)


def decode(types: str, data: bytes) -> tuple[Any, ...]:
    """Decode values by a tuple of types, without checking padding; raises `MalformedValue` if the data ends too early."""
    return _parsed(types).decode(data)


def encode_call(signature: str, *arguments: object) -> bytes:
    """Return the call data of a function by its signature, such as `withdraw(address)`."""
    name, types = _call(signature)
    return types.encode_call(name, arguments)


@cache
def _parsed(types: str) -> AbiTuple:
    return AbiTuple(types)


@cache
def _call(signature: str) -> tuple[bytes, AbiTuple]:
    return selector(signature), _parsed(signature[signature.index("(") :])
