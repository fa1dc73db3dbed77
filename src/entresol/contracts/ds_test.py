"""The events by which contracts that are tested with Foundry log values: those of ds-test, which forge-std has too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_VALUES: Final = {
    "address": "address",
    "bytes32": "bytes32",
    "int": "int256",
    "uint": "uint256",
    "bytes": "bytes",
    "string": "string",
}
_ARRAYS: Final = ("uint256[]", "int256[]", "address[]")
_DECIMALS: Final = {"int": "int256", "uint": "uint256"}


def ds_test_events() -> Iterator[dict[str, Any]]:
    """Yield the events as entries of an ABI; forge names a value `val`, and its name `key`."""
    yield _event("log", "string")
    yield _event("logs", "bytes")
    for name, kind in _VALUES.items():
        yield _event(f"log_{name}", kind)
        yield _event(f"log_named_{name}", kind, key=True)
    for kind in _ARRAYS:
        yield _event("log_array", kind)
        yield _event("log_named_array", kind, key=True)
    for name, kind in _DECIMALS.items():
        yield _event(f"log_named_decimal_{name}", kind, key=True, decimals=True)


def _event(name: str, kind: str, *, key: bool = False, decimals: bool = False) -> dict[str, Any]:
    inputs = [{"type": kind, "name": "val"}]
    if key:
        inputs.insert(0, {"type": "string", "name": "key"})
    if decimals:
        inputs.append({"type": "uint256", "name": "decimals"})
    return {"type": "event", "name": name, "inputs": inputs}
