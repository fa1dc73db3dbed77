"""Turn an exception into the `error` member of a response."""

from __future__ import annotations

import logging
import secrets
from typing import Final

import msgspec

from entresol.errors import (
    ExecutionReverted,
    NotSupported,
    ReceiptTimeout,
    SimulatedCallRejected,
    StoreDamaged,
    TokenSlotNotFound,
    TransactionFailed,
)
from entresol.rpc.jsonrpc.errors.codes import INTERNAL, TEXTS, code_of
from entresol.rpc.jsonrpc.errors.request_errors import RequestError
from entresol.rpc.jsonrpc.errors.simulation_codes import SIMULATION_CODES

log = logging.getLogger(__package__)

_EXPLAINED: Final = (NotSupported, TokenSlotNotFound, TransactionFailed)
"""Errors with the code of internal ones, because other nodes give it to them."""


class ErrorObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """The `error` member of a response."""

    code: int
    message: str
    data: str | dict[str, str] | None = None


def error_object_of(error: Exception, method: str) -> ErrorObject:
    """Return the error object for an exception that a call of `method` raised."""
    code = code_of(type(error))
    if isinstance(error, SimulatedCallRejected):
        code = SIMULATION_CODES.get(type(error.reason), code)
    if code == INTERNAL and not isinstance(error, _EXPLAINED):
        return _internal(error, method)
    text = TEXTS.get(type(error))  # type: ignore[arg-type]  # looking up a key of another type is fine
    if text is not None:
        return ErrorObject(code, text, None if isinstance(error, StoreDamaged) else str(error))
    return ErrorObject(code, _printable(str(error)), _data(error))


def _data(error: Exception) -> str | dict[str, str] | None:
    """Return the `data` member: a revert always has one, even if it is empty."""
    match error:
        case ExecutionReverted():
            return "0x" + error.data.hex()
        case TransactionFailed():
            return {
                "message": str(error),
                "txHash": "0x" + error.transaction_hash.hex(),
                "data": "0x" + error.data.hex(),
            }
        case RequestError():
            return error.detail
        case ReceiptTimeout():
            return "0x" + error.transaction_hash.hex()
    return None


def _internal(error: Exception, method: str) -> ErrorObject:
    """Log an internal error, and return no more to the client than the id to find it by."""
    request_id = secrets.token_hex(8)
    log.error("request %s: %s failed", request_id, method, exc_info=error)
    return ErrorObject(INTERNAL, "Internal error", request_id)


def _printable(text: str) -> str:
    """Make `text` encodable: the reason of a revert may be no valid Unicode."""
    return text.encode(errors="replace").decode()
