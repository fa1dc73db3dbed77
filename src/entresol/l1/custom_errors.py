"""Decode the custom errors of the settlement contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.contracts.abi_registry import project_abis
from entresol.errors import ExecutionReverted

if TYPE_CHECKING:
    from entresol.errors import ExecutionFailed


def reason_of(data: bytes) -> str:
    """Return what revert data say: the custom error with its arguments, or the data themselves."""
    return project_abis().error(data) or f"0x{data.hex()}"


def failure_reason(failure: ExecutionFailed) -> str:
    """Return why a call failed: its message, its custom error with arguments, or its revert data."""
    if not isinstance(failure, ExecutionReverted):
        return str(failure)
    error = project_abis().error(failure.data)
    if error is not None:
        return error
    raw = f" with 0x{failure.data.hex()}" if failure.data else ""
    return str(failure) if ":" in str(failure) else f"{failure}{raw}"
