"""Decode the custom errors of the settlement contracts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from entresol import contracts
from entresol.errors import ExecutionReverted, MalformedValue
from entresol.primitives import abi

if TYPE_CHECKING:
    from entresol.errors import ExecutionFailed


def failure_reason(failure: ExecutionFailed) -> str:
    """Return why a call failed: its message, its custom error with arguments, or its revert data."""
    if not isinstance(failure, ExecutionReverted):
        return str(failure)
    signature = _signatures().get(failure.data[:4])
    if signature is None:
        raw = f" with 0x{failure.data.hex()}" if failure.data else ""
        return str(failure) if ":" in str(failure) else f"{failure}{raw}"
    name, types = signature.split("(", 1)
    try:
        values = abi.decode(f"({types}", failure.data[4:])
    except MalformedValue:
        return name
    return f"{name}({', '.join(map(_formatted, values))})"


@cache
def _signatures() -> dict[bytes, str]:
    """Return the errors of all contracts, by selector."""
    found = {}
    for name in contracts.names():
        for entry in contracts.artifact(name).abi:
            if entry["type"] == "error":
                types = ",".join(item["type"] for item in entry["inputs"])
                signature = f"{entry['name']}({types})"
                found[abi.selector(signature)] = signature
    return found


def _formatted(value: Any) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
