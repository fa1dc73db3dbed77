"""Bytes that no reader of published data accepts, each with the field at which it stops; and the vectors.

`python -m tests.support.published.rejected` writes the vectors of docs/availability.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.published.body import encode_block, encode_body
from entresol.primitives.published.limits import MAX_DECODED_BYTES, MAX_PUBLISHED_BYTES
from tests.support.published.values import (
    DEVELOPMENT_RULES,
    EVERYTHING,
    GIVEN_EDITS,
    PUBLISHED_SMALL,
    SMALL_BATCH,
    SMALL_GENESIS,
)

_LEAST: Final = msgspec.structs.replace(EVERYTHING.blocks[0], deposits=0, transactions=())
HEAD: Final = encode_body(msgspec.structs.replace(EVERYTHING, blocks=(_LEAST,)))[: 1 + 2 + 2 + 64]
PRICED: Final = encode_block(_LEAST)
LAST: Final = bytes(EVERYTHING.last_hash)
MAGIC: Final = bytes.fromhex("0128b52ffd")


def block(kind: int, data: bytes, size: int | None = None, *, is_last: bool = False) -> bytes:
    """Return a block of zstd: 0 is raw, 1 repeats a byte so many times, 2 is compressed."""
    size = len(data) if size is None else size
    return (is_last | kind << 1 | size << 3).to_bytes(3, "little") + data


def single_segment(content_size: int, *blocks: bytes) -> bytes:
    return MAGIC + b"\xa0" + content_size.to_bytes(4, "little") + b"".join(blocks)


def uncompressed(content: bytes) -> bytes:
    parts = [content[at : at + 131_072] for at in range(0, len(content), 131_072)]
    raw = (block(0, part, is_last=at == len(parts)) for at, part in enumerate(parts, start=1))
    return single_segment(len(content), *raw)


RAW_FIVE: Final = block(0, b"abcde", is_last=True)
"""The last block of a frame, with five bytes as they are."""
LONG_MATCH: Final = bytes.fromhex("000154000034ffff01")
"""A compressed block without literals and with one match of 131,074 bytes, which are two more than a block has."""

REJECTED_BODIES: Final[list[tuple[str, bytes]]] = [
        ("number", b"\x01\x00" + HEAD[2:]),
        ("number", b"\x01" + b"\xff" * 10),
        ("number", b"\x01" + b"\xff" * 9 + b"\x02"),
        ("number", b"\x01\x80\x00"),
        ("number", b"\x01" + b"\x80" * 7 + b"\x10" + HEAD[3:]),
        ("blocks", HEAD + b"\x00" + LAST),
        ("blocks", HEAD + b"\x81\x08" + PRICED + LAST),
        ("blocks", HEAD + b"\xff" * 9 + b"\x01" + LAST),
        ("blocks[0].prices", HEAD + b"\x01\x00\x00\x01" + LAST),
        ("blocks[0].prices", HEAD + b"\x01\x40\x00\x01" + LAST),
        ("blocks[1].run", HEAD + b"\x02" + PRICED + b"\x00\x01\x00" + LAST),
        ("blocks[1].run", HEAD + b"\x03" + PRICED + b"\x00\x01\x03" + LAST),
        ("blocks[2].run", HEAD + b"\x03" + PRICED + b"\x00\x01\x01\x00\x01\x01" + LAST),
        ("blocks[1].prices", HEAD + b"\x02" + PRICED * 2 + LAST),
        ("blocks[1].settings", HEAD + b"\x02" + PRICED + b"\x02\x00\x00" + LAST),
        ("blocks[1].settings", HEAD + b"\x02" + PRICED + b"\x02\x00\x11" + LAST),
        ("blocks[1].deposits", HEAD + b"\x02" + PRICED + b"\x40\x00\x00" + LAST),
        ("blocks[1].deposits", HEAD + b"\x02" + PRICED + b"\x40\x00\x81\x08" + LAST),
        ("blocks[1].transactions", HEAD + b"\x02" + PRICED + b"\x80\x00\x00" + LAST),
        ("blocks[1].transactions", HEAD + b"\x02" + PRICED + b"\x80\x00\x19" + LAST),
        ("blocks[1].transactions[0]", HEAD + b"\x02" + PRICED + b"\x80\x00\x01\x00" + LAST),
        ("blocks[1].transactions[0]", HEAD + b"\x02" + PRICED + b"\x80\x00\x01\x01\x03" + LAST),
        ("blocks[1].transactions[0]", HEAD + b"\x02" + PRICED + b"\x80\x00\x01\x01\xff" + LAST),
        ("blocks[1].transactions[0]", HEAD + b"\x02" + PRICED + b"\x80\x00\x01\x7f\x02" + LAST),
        ("blocks[1].roots", HEAD + b"\x02" + PRICED + b"\x20\x00\x00" + LAST),
        ("blocks[1].roots", HEAD + b"\x02" + PRICED + b"\x20\x00\x65" + LAST * 200),
        ("blocks[1].edits.hash", HEAD + b"\x02" + PRICED + b"\x18\x00" + LAST * 2),
        ("blocks[1].edits.size", HEAD + b"\x02" + PRICED + b"\x10\x00" + LAST + b"\x00" + LAST),
        ("blocks[1].edits.accounts", HEAD + b"\x02" + PRICED + b"\x08\x00\x00" + LAST),
        ("blocks[1].edits.accounts", HEAD + b"\x02" + PRICED + b"\x08\x00\x02" + LAST),
        ("blocks[1].rules.version", HEAD + b"\x02" + PRICED + b"\x01\x00\x02" + LAST),
        (
            "blocks[1].rules",
            HEAD + b"\x02" + PRICED + b"\x01\x00" + DEVELOPMENT_RULES.encode() + LAST,
        ),
        ("blocks[0].prices.nominator", HEAD + b"\x01\x04\x00\x01\x00\x01\x01" + LAST),
        ("blocks[0].prices.nominator", HEAD + b"\x01\x04\x00\x01\x11" + LAST),
        ("blocks[0].prices.denominator", HEAD + b"\x01\x04\x00\x01\x01\x01\x01\x00" + LAST),
        ("last_hash", HEAD + b"\x01" + PRICED + LAST[1:]),
        ("end", HEAD + b"\x01" + PRICED + LAST + b"\x00"),
        ("size", bytes(MAX_DECODED_BYTES + 1)),
]  # fmt: skip

REJECTED_EDITS: Final[list[tuple[str, bytes]]] = [
        ("accounts[1].address", b"\x02" + b"\x01" * 20 + b"\0" + b"\x01" * 20 + b"\0\0"),
        ("accounts[0].flags", b"\x01" + bytes(20) + b"\x10\0"),
        ("accounts[0].flags", b"\x01" + b"\x01" * 20 + b"\x04\0"),
        ("accounts[0].code_hash", b"\x01" + b"\x01" * 20 + b"\x05\0\0" + EMPTY_CODE_HASH + b"\0"),
        ("accounts[0].balance", b"\x01" + b"\x01" * 20 + b"\x01\0\x01\0\0"),
        ("accounts[0].balance", b"\x01" + b"\x01" * 20 + b"\x01\0\x21" + b"\x01" * 40),
        ("accounts[0].flags", b"\x01" + b"\x01" * 20 + b"\x08\x01" + bytes(33) + b"\0"),
        ("accounts[0].slots", b"\x01" + b"\x01" * 20 + b"\x09\0\0\0\0"),
        (
            "accounts[0].slots[1]",
            b"\x01" + b"\x01" * 20 + b"\x09\0\0\x02" + (b"\x01" * 32 + b"\0") * 2 + b"\0",
        ),
        ("codes[0]", b"\x01" + b"\x01" * 20 + b"\0\x01\x01\xfe"),
        ("end", b"\x01" + b"\x01" * 20 + b"\0\0\0"),
]  # fmt: skip

REJECTED_FRAMES: Final[list[tuple[str, bytes]]] = [
        ("version", b""),
        ("magic", b"\x01"),
        ("magic", b"\x01" + bytes(9)),
        # A skippable frame, and one of an earlier version of zstd.
        ("magic", bytes.fromhex("01502a4d180100000000") + PUBLISHED_SMALL[1:]),
        ("magic", bytes.fromhex("0127b52ffd2000010000")),
        ("descriptor", MAGIC),
        ("descriptor", MAGIC + b"\x24\x05" + RAW_FIVE + bytes(4)),
        ("descriptor", MAGIC + b"\x21\x01\x05\x01\0\0"),
        ("descriptor", MAGIC + b"\x28\x05\x01\0\0"),
        ("descriptor", MAGIC + b"\x30\x05\x01\0\0"),
        ("descriptor", MAGIC + b"\x00\x00" + RAW_FIVE),
        ("content_size", MAGIC + b"\x20\x00\x01\0\0"),
        ("content_size", MAGIC + b"\xe0" + (2**63).to_bytes(8, "little") + b"\x01\0\0"),
        ("content_size", MAGIC + b"\xa0" + (MAX_DECODED_BYTES + 1).to_bytes(4, "little") + bytes(90_000)),
        ("content_size", MAGIC + b"\xa0" + (MAX_DECODED_BYTES).to_bytes(4, "little") + bytes(9)),
        # Not a single segment: a window that is too large, and one that is smaller than an offset could be.
        ("descriptor", MAGIC + b"\x80\x69" + (1_000).to_bytes(4, "little") + bytes(9)),
        ("descriptor", MAGIC + b"\x80\x00" + (5).to_bytes(4, "little") + RAW_FIVE),
        # Blocks of more than 128 KiB, or more than the content; some programs read them, and others do not.
        ("block", single_segment(202_000, block(0, bytes(2_000)), block(1, b"\0", 200_000, is_last=True))),
        ("block", single_segment(5, block(1, b"\0", 6, is_last=True))),
        ("frame", single_segment(2_000 + 131_074, block(0, bytes(2_000)), block(2, LONG_MATCH, is_last=True))),
        # Compressed literals, which versions of zstd read differently if they are broken.
        ("literals", single_segment(5, block(2, b"\x02\0\0", is_last=True))),
        ("literals", single_segment(5, block(2, b"\x03\0\0", is_last=True))),
        ("literals", single_segment(5, block(2, b"", is_last=True))),
        ("block", single_segment(5, block(3, b"abcde", is_last=True))),
        ("block", single_segment(5, block(0, b"abcde"))),
        ("block", single_segment(5, block(0, b"abcde", is_last=True))[:-1]),
        ("frame", single_segment(5, block(0, b"abcd", is_last=True))),
        ("frame", single_segment(5, block(0, b"abcd"), block(0, b"ef", is_last=True))),
        ("end", PUBLISHED_SMALL + b"\x00"),
        ("end", PUBLISHED_SMALL * 2),
        ("end", PUBLISHED_SMALL + PUBLISHED_SMALL[1:]),
        ("end", PUBLISHED_SMALL + bytes.fromhex("502a4d1800000000")),
        ("size", bytes(MAX_PUBLISHED_BYTES + 1)),
]  # fmt: skip


PATH: Final = Path(__file__).resolve().parents[2] / "vectors" / "availability.json"
_MAX_BYTES: Final = 10_000
"""Longer ones are not written: they are about lengths alone, which the page says."""


def vectors() -> dict[str, Any]:
    """Return what is accepted, with its value, and what is rejected, with the field at which a reader stops."""
    rejected = (
        ("body", REJECTED_BODIES),
        ("edits", REJECTED_EDITS),
        ("published", REJECTED_FRAMES),
    )
    return {
        "accepted": [
            _accepted("rules", DEVELOPMENT_RULES.encode(), DEVELOPMENT_RULES),
            _accepted("edits", GIVEN_EDITS.encode(), GIVEN_EDITS),
            _accepted("body", encode_body(SMALL_BATCH), SMALL_BATCH),
            _accepted("body", encode_body(EVERYTHING), EVERYTHING),
            _accepted("published", PUBLISHED_SMALL, encode_body(SMALL_BATCH)),
            _accepted("genesis", SMALL_GENESIS.encode(), SMALL_GENESIS),
        ],
        "rejected": [
            {"kind": kind, "hex": data.hex(), "field": field}
            for kind, found in rejected
            for field, data in found
            if len(data) <= _MAX_BYTES
        ],
    }


def _accepted(kind: str, data: bytes, value: object) -> dict[str, Any]:
    return {"kind": kind, "hex": data.hex(), "value": _plain(value)}


def _plain(value: Any) -> Any:
    """Return a value of JSON; numbers that JavaScript would not read exactly are texts."""
    match value:
        case bytes():
            return "0x" + value.hex()
        case bool() | None | str():
            return value
        case int():
            return value if value < 2**53 else str(value)
        case msgspec.Struct():
            return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if hasattr(value, "_asdict"):
        return {name: _plain(it) for name, it in value._asdict().items()}
    return [_plain(entry) for entry in value]


def encoded() -> bytes:
    return msgspec.json.format(msgspec.json.encode(vectors()), indent=1) + b"\n"


if __name__ == "__main__":
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_bytes(encoded())
