"""The rows of a fork's cache: each kind of value, its key, and how people name it.

The values of a block that is given by its hash never change, so a row is written once. Rows of the anchor have an empty
`block`: most rows are the anchor's.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from entresol._native import keccak256

RowKey: TypeAlias = tuple[Any, ...]
"""Bytes, strings and integers, as the kind of the row says."""
RowValue: TypeAlias = tuple[bytes, ...]

ANCHOR: Final = b""
"""The `block` of rows of the anchor."""
EMPTY_CODE: Final = keccak256(b"")
ROW_BYTES: Final = 100
"""What a row takes beside its columns."""
MAX_NUMBER: Final = (1 << 63) - 1
"""The largest integer of SQLite."""


class Kind(NamedTuple):
    """A kind of row: its name, and the columns of its key and of its value, with their types."""

    name: str
    key: dict[str, type]
    value: dict[str, type]


class Row(NamedTuple):
    """A value with its key."""

    kind: str
    key: RowKey
    value: RowValue

    @property
    def size(self) -> int:
        """About how many bytes it takes: a slot has two hundred, a response may have megabytes."""
        return ROW_BYTES + sum(
            len(it) for it in (*self.key, *self.value) if not isinstance(it, int)
        )


KINDS: Final = {
    kind.name: kind
    for kind in (
        # Answers of the start may differ from one start to the next; the first ones stay.
        Kind("answer", {"name": str}, {"json": bytes}),
        Kind(
            "account",
            {"block": bytes, "address": bytes},
            {"nonce": bytes, "balance": bytes, "code_hash": bytes},
        ),
        Kind("code", {"hash": bytes}, {"code": bytes}),
        Kind("slot", {"block": bytes, "address": bytes, "slot": bytes}, {"value": bytes}),
        Kind("hash", {"number": int}, {"hash": bytes}),
        Kind("response", {"method": str, "params": bytes}, {"json": bytes}),
        # That nothing at or below the anchor is the response; a response that is there wins.
        Kind("absent", {"method": str, "params": bytes}, {}),
    )
}


class CachedAccount(NamedTuple):
    """An account of a remote chain at one block; an empty one is absent there."""

    nonce: int
    balance: int
    code: bytes


class Fork(msgspec.Struct, frozen=True):
    """Which fork a cache is of: a chain, and the number and hash of the block it stands on."""

    chain_id: int
    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"chain {self.chain_id} at block {self.number} 0x{self.hash.hex()}"

    @property
    def name(self) -> str:
        """What people call it on the command line, and the name of its file."""
        return f"{self.chain_id}-{self.number}-{self.hash[:6].hex()}"


class StartAnswers(msgspec.Struct, frozen=True):
    """What a fork asks before it starts: with these it needs no remote.

    `anchor` is the JSON of the block; `answers` are others by name, as the first start that was cached has got them.
    """

    fork: Fork
    anchor: bytes
    answers: dict[str, bytes] = {}


def big_endian(value: int) -> bytes:
    """Return an integer without leading zeros; SQLite's own end at 63 bits."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def name_of(kind: str, key: RowKey) -> str:
    """Return what people call a value: `slot 0x… of account 0x…`."""
    match kind, key:
        case "account", (bytes(block), bytes(address)):
            return f"account 0x{address.hex()}{_at(block)}"
        case "slot", (bytes(block), bytes(address), bytes(slot)):
            return f"slot 0x{slot.hex()} of account 0x{address.hex()}{_at(block)}"
        case "code", (bytes(code_hash),):
            return f"code with hash 0x{code_hash.hex()}"
        case "hash", (number,):
            return f"the hash of block {number}"
        case (("response" | "absent"), (method, bytes(params))):
            return f"the response to {method} {params.decode(errors='replace')[:300]}"
    return f"{kind} {' '.join(str(it) for it in key)}"


def text_of(value: RowValue) -> str:
    """Return a value for an error: short, in one line."""
    text = " ".join(
        it.decode(errors="replace") if it.startswith((b"{", b"[", b'"')) else f"0x{it.hex() or '0'}"
        for it in value
    )
    return text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"


def _at(block: bytes) -> str:
    return f" at block 0x{block.hex()}" if block else ""
