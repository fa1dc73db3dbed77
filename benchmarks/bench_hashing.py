"""Hashing, natively and with what a Python program would use otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from eth_hash.auto import keccak

from benchmarks.harness import Peer, Row, best_seconds
from entresol._native import keccak256


def rows() -> Iterable[Row]:
    """Measure one hash of a word and of a whole contract."""
    for size in (32, 24_576):
        data = bytes(size)
        yield Row(
            what=f"keccak256 of {size:,} bytes",
            value=best_seconds(partial(keccak256, data)) * 1e6,
            unit="µs",
            peer=Peer("eth-hash", best_seconds(partial(keccak, data)) * 1e6),
        )
