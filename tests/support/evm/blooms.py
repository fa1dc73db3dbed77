"""The answer of a bloom filter, computed beside the code that makes one."""

from __future__ import annotations

from entresol._native import keccak256
from entresol.primitives.values import Bloom


def may_contain(bloom: Bloom, value: bytes) -> bool:
    """Return whether an address or topic may be in `bloom`; False is certain."""
    digest, bits = keccak256(value), int.from_bytes(bloom)
    return all(bits >> (int.from_bytes(digest[at : at + 2]) % 2048) & 1 for at in (0, 2, 4))
