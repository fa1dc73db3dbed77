"""Map exceptions to JSON-RPC error objects: one table of codes for all of them.

    EntresolError
    └── RequestError                a request that reaches no method, or whose response cannot be sent
        ├── ParseError              the body is not JSON
        ├── InvalidRequestError     the body is JSON, but no request
        ├── MethodNotFoundError     no method has this name
        ├── InvalidParamsError      the parameters are not what the method takes
        ├── BatchSizeError          more calls in a batch than allowed
        ├── ResponseSizeError       a result longer than allowed
        └── BatchResponseSizeError  the results of a batch are longer than allowed together

An error with code -32603 is internal, and so is every exception that is not in the tree: it is logged with its
traceback under a request id, and the client gets the id and nothing else.
"""

from __future__ import annotations

import logging
import secrets
from typing import Final

import msgspec

from entresol.errors import (
    AccountsLocked,
    BatchOverflow,
    BlockFull,
    ClusterFailed,
    ControlRejected,
    DumpInterrupted,
    DuplicatePrecompileMove,
    EmptySimulation,
    EngineError,
    EntresolError,
    ExecutionFailed,
    ExecutionReverted,
    ExecutionStopped,
    FilterMemoryFull,
    FilterNotFound,
    HistoryNotLoaded,
    InvalidBytecode,
    InvalidConfig,
    InvalidFilter,
    InvalidGenesis,
    InvalidInterval,
    InvalidOverride,
    InvalidPercentiles,
    InvalidSimulation,
    InvalidStateFile,
    InvalidTraceRange,
    InvalidTransaction,
    LayerOneFailed,
    ListenFailed,
    LoadRejected,
    MalformedValue,
    MintOverflow,
    NotAPrecompile,
    NotificationsNotSupported,
    NotInspectable,
    NotSupported,
    PoolRejection,
    PrecompileMovedToSelf,
    ProducerUnavailable,
    ReceiptTimeout,
    ReorgIndexTooHigh,
    ReplayMismatch,
    RollbackRejected,
    RollbackTooDeep,
    SimulatedCallRejected,
    SimulatedNumberTooLow,
    SimulatedTimeTooLow,
    SimulationGasSpent,
    SimulationTooLong,
    StoreFailed,
    StoreFull,
    SubscriptionRejected,
    TimestampTooHigh,
    TimestampTooLow,
    TokenSlotNotFound,
    TooManyCalls,
    TooManySlots,
    TooManySubscriptions,
    TooManyToSeal,
    TransactionFailed,
    TrieError,
    UnknownAccount,
    UnknownBlock,
    UnknownTracer,
    UnserializableCall,
)
from entresol.rpc.jsonrpc.simulation_codes import SIMULATION_CODES

log = logging.getLogger(__name__)

INTERNAL: Final = -32603


class RequestError(EntresolError):
    """A request cannot be served; `detail` says more than the standard text."""

    def __init__(self, message: str, detail: str | None = None) -> None:
        super().__init__(message)
        self.detail = detail


class ParseError(RequestError):
    """The body is not JSON."""

    def __init__(self, detail: str) -> None:
        super().__init__("Parse error", detail)


class InvalidRequestError(RequestError):
    """The body is JSON, but no request."""

    def __init__(self, detail: str) -> None:
        super().__init__("Invalid request", detail)


class MethodNotFoundError(RequestError):
    """No method has this name."""

    def __init__(self, name: str) -> None:
        # Clients match on this very text.
        super().__init__(f"the method {name[:70]} does not exist/is not available")


class InvalidParamsError(RequestError):
    """A parameter is not what the method takes; the text says which."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


class BatchSizeError(RequestError):
    """A batch has more calls than allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__("The batch request was too large", f"Exceeded max limit of {limit}")


class ResponseSizeError(RequestError):
    """A result is longer than allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__("Response is too big", f"Exceeded max limit of {limit}")


class BatchResponseSizeError(RequestError):
    """The results of a batch are longer than allowed together."""

    def __init__(self, limit: int) -> None:
        super().__init__("The batch response was too large", f"Exceeded max limit of {limit}")


CODES: Final[dict[type[EntresolError], int]] = {
    ParseError: -32700,
    InvalidRequestError: -32600,
    MethodNotFoundError: -32601,
    InvalidParamsError: -32602,
    ResponseSizeError: -32008,
    BatchSizeError: -32010,
    BatchResponseSizeError: -32011,
    RequestError: -32600,
    # The request makes no sense, or names what does not exist.
    MalformedValue: -32602,
    InvalidConfig: -32602,
    InvalidFilter: -32602,
    InvalidGenesis: -32602,
    InvalidStateFile: -32602,
    InvalidInterval: -32602,
    InvalidOverride: -32602,
    InvalidPercentiles: -32602,
    SubscriptionRejected: -32602,
    TooManySubscriptions: -32006,
    # As in geth: over this connection, there is no such method.
    NotificationsNotSupported: -32601,
    TooManySlots: -32602,
    TooManyCalls: -32602,
    TimestampTooLow: -32602,
    TimestampTooHigh: -32602,
    TooManyToSeal: -32602,
    UnknownBlock: -32602,
    UnknownTracer: -32602,
    # As in geth: clients classify by its code and wording.
    FilterNotFound: -32000,
    # As for too many subscriptions: the request is right, and may succeed later.
    FilterMemoryFull: -32006,
    InvalidTransaction: -32000,
    InvalidBytecode: -32000,
    PoolRejection: -32000,
    BlockFull: -32000,
    ExecutionFailed: -32000,
    UnknownAccount: -32000,
    AccountsLocked: -32000,
    HistoryNotLoaded: -32000,
    DumpInterrupted: -32000,
    LoadRejected: -32000,
    RollbackRejected: -32000,
    # As in anvil.
    RollbackTooDeep: -32602,
    ReorgIndexTooHigh: -32602,
    # As in geth's debug_.
    NotInspectable: -32000,
    InvalidTraceRange: -32602,
    # As in EIP-7966; `data` is the hash of the transaction.
    ReceiptTimeout: 4,
    ControlRejected: -32000,
    # As in anvil.
    NotSupported: INTERNAL,
    TokenSlotNotFound: INTERNAL,
    # As in Hardhat 2.
    TransactionFailed: INTERNAL,
    # Not -32603 or -32005: clients would try again at once and meet the same limit.
    ExecutionStopped: -32000,
    # As in zksync-era.
    ExecutionReverted: 3,
    MintOverflow: 3,
    UnserializableCall: 3,
    # The codes of eth_simulateV1.
    NotAPrecompile: -32000,
    PrecompileMovedToSelf: -38022,
    DuplicatePrecompileMove: -38023,
    InvalidSimulation: -32602,
    EmptySimulation: -32602,
    SimulatedNumberTooLow: -38020,
    SimulatedTimeTooLow: -38021,
    SimulationTooLong: -38026,
    SimulationGasSpent: -38026,
    SimulatedCallRejected: -32000,
    # Internal errors.
    EngineError: INTERNAL,
    ReplayMismatch: INTERNAL,
    TrieError: INTERNAL,
    StoreFailed: INTERNAL,
    # A client has to know that nothing was done, and the operator why.
    StoreFull: -32000,
    ListenFailed: INTERNAL,
    BatchOverflow: INTERNAL,
    # A client that settles on request has to know why it does not work.
    ClusterFailed: -32000,
    LayerOneFailed: -32000,
    # The request is right, and may succeed later.
    ProducerUnavailable: -32000,
}

TEXTS: Final[dict[type[EntresolError], str]] = {
    # The wording of zksync-era; what exactly is missing goes into `data`.
    UnknownBlock: "Block with such an ID doesn't exist yet",
}


class ErrorObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """The `error` member of a response."""

    code: int
    message: str
    data: str | dict[str, str] | None = None


_EXPLAINED: Final = (NotSupported, TokenSlotNotFound, TransactionFailed)
"""Errors with the code of internal ones, because other nodes give it to them."""


def code_of(kind: type[BaseException]) -> int:
    """Return the code of the nearest ancestor in the table; an exception without one is a bug."""
    for ancestor in kind.__mro__:
        code = CODES.get(ancestor)
        if code is not None:
            return code
    return INTERNAL


def error_object_of(error: Exception, method: str) -> ErrorObject:
    """Return the error object for an exception that a call of `method` raised."""
    code = code_of(type(error))
    if isinstance(error, SimulatedCallRejected):
        code = SIMULATION_CODES.get(type(error.reason), code)
    if code == INTERNAL and not isinstance(error, _EXPLAINED):
        return _internal(error, method)
    text = TEXTS.get(type(error))  # type: ignore[arg-type]  # looking up a key of another type is fine
    if text is not None:
        return ErrorObject(code, text, str(error))
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
