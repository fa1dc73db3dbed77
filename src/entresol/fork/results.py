"""Decode what a remote responds, and check everything that a hostile one can send.

Members that are not needed are ignored: other chains have others. Whatever is wrong raises `MalformedValue`; who asked
knows host and method (`decoded`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from entresol.errors import MalformedValue, RemoteMalformed
from entresol.l1.remote.results import quantity
from entresol.primitives.anchor import header_of_block
from entresol.primitives.headers import Header
from entresol.primitives.values import Data, Hash32, Quantity

T = TypeVar("T")

MAX_CODE: Final = 1 << 20
"""Code over 24 KiB is legal on many chains; over 1 MiB it is nobody's."""
MAX_NUMBER: Final = 2**63 - 1
MAX_NONCE: Final = 2**64 - 1
MAX_CHAIN_ID: Final = 2**64 - 1
MAX_PROOF_NODES: Final = 128
MAX_PROOF_NODE: Final = 1 << 16
_WORD_DIGITS: Final = 64


class DescribedBlock(msgspec.Struct, frozen=True):
    """A block of the remote: its JSON as it came, and a header with what it has of ours."""

    number: int
    hash: Hash32
    header: Header
    json: bytes


def decoded(host: str, method: str, raw: bytes, decode: Callable[[Any], T]) -> T:
    """Return a result, decoded; raises `RemoteMalformed`."""
    try:
        return decode(msgspec.json.decode(raw))
    except MalformedValue as error:
        raise RemoteMalformed(host, method, str(error)) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise RemoteMalformed(host, method, "the result cannot be read") from error


number: Final = quantity(MAX_NUMBER)
nonce: Final = quantity(MAX_NONCE)
balance: Final = quantity(2**256 - 1)
chain_id: Final = quantity(MAX_CHAIN_ID)


def word(result: object) -> bytes:
    """Return the value of a slot, without leading zeros; nodes write it with and without them."""
    if not isinstance(result, str) or not result.startswith("0x"):
        raise MalformedValue("a word is a hex string")
    digits = result[2:]
    if len(digits) > _WORD_DIGITS:
        raise MalformedValue(f"a word has 32 bytes, got {len(digits)} digits")
    value = int(Quantity.parse(result)) if digits else 0
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def code(result: object) -> bytes:
    """Return the code of an account."""
    if isinstance(result, str) and len(result) > 2 * MAX_CODE + 2:
        raise MalformedValue(f"code has at most {MAX_CODE} bytes, got {(len(result) - 2) // 2}")
    return bytes(Data.parse(result))


def member(fields: dict[str, Any], name: str, decode: Callable[[object], T]) -> T:
    """Return a member of an object, decoded."""
    try:
        return decode(fields.get(name))
    except MalformedValue as error:
        raise MalformedValue(f"{name}: {error}") from error


def mapping(value: object) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise MalformedValue("an object is expected")
    return value


def proof_nodes(value: object) -> list[bytes]:
    """Return the nodes of a Merkle proof."""
    if not isinstance(value, list) or len(value) > MAX_PROOF_NODES:
        raise MalformedValue(f"a proof is an array of up to {MAX_PROOF_NODES} nodes")
    nodes = [bytes(Data.parse(it)) for it in value]
    if any(len(node) > MAX_PROOF_NODE for node in nodes):
        raise MalformedValue(f"a node of a proof has at most {MAX_PROOF_NODE} bytes")
    return nodes


def described_block(
    host: str, method: str, raw: bytes, *, number_is: int | None = None, hash_is: object = None
) -> DescribedBlock | None:
    """Return a block of the remote, None if there is none; it has to be the one that was asked for."""

    def decode(result: object) -> DescribedBlock | None:
        if result is None:
            return None
        fields = mapping(result)
        header = header_of_block(fields)
        assert header.given_hash is not None
        block = DescribedBlock(
            member(fields, "number", number), header.given_hash, header, bytes(raw)
        )
        if number_is is not None and block.number != number_is:
            raise MalformedValue(f"it is block {block.number}, and not {number_is}")
        if hash_is is not None and block.hash != hash_is:
            raise MalformedValue(f"it is block {block.hash}, and not {hash_is}")
        return block

    return decoded(host, method, raw, decode)
