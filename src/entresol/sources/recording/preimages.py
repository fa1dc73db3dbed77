"""What an execution has hashed to find slots of mappings and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import TraceTooLarge
from entresol.primitives.values import Data

if TYPE_CHECKING:
    from collections.abc import Callable

PREIMAGES: Final = b'{"tracer":"keccak256PreimageTracer"}'

MAX_PREIMAGES: Final = 10_000
MAX_PREIMAGE: Final = 256
"""Bytes of a preimage; a longer one is not a key of a mapping that is shown."""

_SLOT: Final = 32

_decode: Final = msgspec.json.Decoder(dict[str, str]).decode


def slot_preimages(run: Callable[[bytes], bytes]) -> dict[int, bytes]:
    """Return the preimages that may be of slots, by their hashes; none if there are too many bytes of them."""
    try:
        found = _decode(run(PREIMAGES))
    except TraceTooLarge:
        return {}
    kept: dict[int, bytes] = {}
    for hashed, preimage in found.items():
        if len(kept) == MAX_PREIMAGES:
            break
        if _SLOT <= len(preimage) // 2 - 1 <= MAX_PREIMAGE:
            kept[int(hashed, 16)] = bytes(Data.parse(preimage))
    return kept
