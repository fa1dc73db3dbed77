"""The table of JSON-RPC error codes: one for each exception that a client may see."""

from __future__ import annotations

from typing import Final

from entresol.errors import (
    AccountsLocked,
    BatchOverflow,
    BlockFull,
    ChainReplaced,
    ClusterFailed,
    ControlRejected,
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
    StoreDamaged,
    StoreFailed,
    StoreFull,
    SubscriptionRejected,
    TimestampNotLater,
    TimestampTooHigh,
    TimestampTooLow,
    TokenSlotNotFound,
    TooManyCalls,
    TooManyLongCalls,
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
from entresol.rpc.jsonrpc.errors.request_errors import (
    BatchResponseSizeError,
    BatchSizeError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    ParseError,
    RequestError,
    ResponseSizeError,
)

INTERNAL: Final = -32603

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
    # The request is right, and succeeds once others have ended.
    TooManyLongCalls: -32005,
    TimestampTooLow: -32602,
    TimestampNotLater: -32000,
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
    # The request is right, and may succeed now.
    ChainReplaced: -32000,
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
    StoreDamaged: -32000,
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
    # What exactly is the operator's, in the log.
    StoreDamaged: "the data of the node is damaged, and what the request needs cannot be read: see its log",
}


def code_of(kind: type[BaseException]) -> int:
    """Return the code of the nearest ancestor in the table; an exception without one is a bug."""
    for ancestor in kind.__mro__:
        code = CODES.get(ancestor)
        if code is not None:
            return code
    return INTERNAL
