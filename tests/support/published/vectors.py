"""Write the vectors of docs/availability.md: `python -m tests.support.published.vectors`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from entresol.primitives.published.body import encode_body
from tests.support.published.rejected import REJECTED_BODIES, REJECTED_EDITS, REJECTED_FRAMES
from tests.support.published.values import (
    DEVELOPMENT_RULES,
    EVERYTHING,
    GIVEN_EDITS,
    PUBLISHED_SMALL,
    SMALL_BATCH,
    SMALL_GENESIS,
)

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
