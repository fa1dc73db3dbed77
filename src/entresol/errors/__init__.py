"""The root of every error this package raises on purpose.

    EntresolError
    ├── MalformedValue             text or bytes that are not the value they should be
    ├── InvalidBytecode            code that cannot be published as a factory dependency
    ├── InvalidGenesis             not a state and a header that a chain can start with
    ├── InvalidTransaction         a transaction that cannot be included as it stands
    │   ├── MalformedTransaction   its bytes are not a transaction
    │   ├── InvalidSignature       nobody can have signed it
    │   ├── UnsupportedType        a type this chain does not take
    │   ├── WrongChain             signed for another chain
    │   ├── NonceTooLow            the sender already used this nonce
    │   ├── NonceTooHigh           an earlier nonce of the sender is missing
    │   ├── NonceOverflow          the sender has no nonce left
    │   ├── InsufficientFunds      the sender cannot pay gas and value
    │   ├── IntrinsicGasTooLow     the gas limit does not pay for being included
    │   ├── GasLimitExceeded       asks for more gas than a block or a transaction may use
    │   ├── FeeCapTooLow           offers less than the base fee
    │   ├── TipAboveFeeCap         offers a tip above its own fee cap
    │   ├── SenderNotEOA           the sender has code
    │   ├── InitCodeTooLarge       creates a contract from too much code
    │   ├── EmptyAuthorizations    sets code without saying whose
    │   ├── TransactionTooLarge    longer than the chain takes
    │   ├── UnprotectedTransaction valid on any chain, where that is not wanted
    │   ├── NoPubdataLimit         allows no gas for published data
    │   ├── PaymasterNotSupported  wants somebody else to pay its fee
    │   ├── TooManyFactoryDeps     publishes more code than it may
    │   ├── TooManyMessages        sends more messages to L1 than a batch can have
    │   └── TipTooLow              offers less than the least tip
    ├── PoolRejection                a valid transaction that the pool has no place for
    │   ├── AlreadyKnown           it is in the pool
    │   ├── ReplacementUnderpriced too little more than the one with the same nonce
    │   ├── SenderLimitExceeded    the sender has too many in the pool
    │   └── PoolFull               everything in the pool is worth as much
    ├── UnknownAccount             an account that the node cannot act for
    ├── AccountsLocked             the node acts for nobody
    ├── ReceiptTimeout             a transaction that no block included in time
    ├── NotSupported               what the node takes no part in
    ├── ExecutionFailed            a call ran, and failing is its answer
    │   ├── ExecutionReverted      it gave up, and may have said why
    │   ├── ExecutionHalted        it broke a rule of the machine
    │   │   └── CallGasSpent       it used all the gas that a call may have
    │   ├── GasAllowanceExceeded   no gas limit that is allowed suffices
    │   └── MintOverflow           more ether to mint than there can be
    ├── UnserializableCall         a call that is no transaction, in the network's words
    ├── InvalidOverride            a what-if question that cannot be asked
    │   ├── TooManyOverrides       more accounts or slots than a question may assume
    │   ├── NotAPrecompile         what is to be moved is none
    │   ├── PrecompileMovedToSelf        a precompile would stay where it is
    │   └── DuplicatePrecompileMove          two precompiles would be at one address
    ├── InvalidSimulation          blocks that cannot be simulated as they are described
    │   ├── EmptySimulation        there are none
    │   ├── SimulatedNumberTooLow  a number that is not above the last one
    │   ├── SimulatedTimeTooLow    a timestamp that is not after the last one
    │   ├── SimulationTooLong      more blocks than one simulation may have
    │   ├── SimulationGasSpent     the calls before this one used all gas there is
    │   └── SimulatedCallRejected   a call that no block could include; the cause is chained
    ├── EngineError                the engine could not finish; nothing is known of the outcome
    │   ├── StateUnavailable       the state source failed; the cause is chained
    │   ├── EnginePanicked         a bug in the engine; the state is as it was before
    │   └── ExecutionStopped       a limit of the caller's was reached
    │       ├── GasBudgetSpent
    │       ├── DeadlinePassed
    │       ├── ExecutionCancelled
    │       └── TraceTooLarge
    ├── UnknownBlock               a block that is not there
    ├── InvalidConfig              a setting that makes no sense, named by where it was set
    ├── InvalidInterval            a time between blocks that is none
    ├── InvalidPercentiles         percentiles that are none, or in disorder
    ├── TimestampTooLow            a time for the next block that is not after the last one's
    ├── TimestampTooHigh           a time after which no block would have a time of its own
    ├── TooManyToSeal              more blocks to seal than one request may ask for
    ├── BlockFull                  a transaction that has no room in the block
    │   └── BlockFullOfMessages    its messages to L1 have none
    ├── ReplayMismatch              a block that does not come out as its record says
    ├── UnknownTracer              no tracer has this name, or it rejects its options
    ├── InvalidFilter              a question for logs that cannot be answered as it stands
    │   ├── TooManyTopics          more topics than a log can have
    │   ├── TooManyAlternatives    more addresses, or topics at a position, than one filter may have
    │   ├── BlockHashWithRange           one block and a range of blocks at once
    │   ├── TooManyResults         more logs than one answer has
    │   └── TooManyBlocks          a wider range than one question may have
    ├── FilterNotFound             no filter has this id, or not any more
    ├── SubscriptionRejected        nobody can listen to this
    │   ├── UnknownSubscription    there is nothing of this name to listen to
    │   ├── NotificationsNotSupported      the connection has no way to tell the client anything
    │   └── TooManySubscriptions   the connection listens to enough already
    ├── TrieError
    │   ├── MissingNode            a trie node that the root refers to is not in the store
    │   └── InvalidProof           a proof that does not lead from the root to the key
    ├── BatchOverflow              more in a batch than a batch can have
    ├── LayerOneFailed             L1 did not do what it was asked for
    │   ├── LayerOneUnreachable    nobody answers there, or not in time: waiting may help
    │   ├── LayerOneRejected        it answered with an error
    │   └── LayerOneMismatch        it is not, or not any more, the L1 that this chain is tied to
    ├── StoreFailed                the directory of a chain cannot be used
    │   ├── StoreLocked            another process has it open
    │   ├── StoreForeign           something else is in it
    │   ├── StoreTooNew            a newer version wrote it
    │   ├── StoreDamaged           it cannot be read
    │   ├── StoreFull              there is no space left
    │   ├── RebuildInterrupted        its indexes are being made anew
    │   ├── GenesisMismatch         the chain in it began otherwise
    │   └── WrongParent            a record that does not continue the chain
    └── ListenFailed               the server cannot listen where it should
        ├── AddressInUse           somebody else listens there
        ├── AddressUnavailable     this machine has no such address
        └── AddressForbidden       the system does not allow that port

Anything else that escapes is a bug and is reported as one.
"""

from entresol.errors.base import (
    EntresolError,
)
from entresol.errors.chain import (
    BatchOverflow,
    BlockFull,
    BlockFullOfMessages,
    InvalidInterval,
    InvalidPercentiles,
    ReplayMismatch,
    TimestampTooHigh,
    TimestampTooLow,
    TooManyToSeal,
    UnknownBlock,
)
from entresol.errors.config import (
    AddressForbidden,
    AddressInUse,
    AddressUnavailable,
    InvalidConfig,
    ListenFailed,
)
from entresol.errors.execution import (
    CallGasSpent,
    DeadlinePassed,
    DuplicatePrecompileMove,
    EmptySimulation,
    EngineError,
    EnginePanicked,
    ExecutionCancelled,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionReverted,
    ExecutionStopped,
    GasAllowanceExceeded,
    GasBudgetSpent,
    InvalidOverride,
    InvalidSimulation,
    MintOverflow,
    NotAPrecompile,
    PrecompileMovedToSelf,
    SimulatedCallRejected,
    SimulatedNumberTooLow,
    SimulatedTimeTooLow,
    SimulationGasSpent,
    SimulationTooLong,
    StateUnavailable,
    TooManyOverrides,
    TraceTooLarge,
    UnknownTracer,
    UnserializableCall,
)
from entresol.errors.l1 import (
    LayerOneFailed,
    LayerOneMismatch,
    LayerOneRejected,
    LayerOneUnreachable,
)
from entresol.errors.rpc import (
    AccountsLocked,
    BlockHashWithRange,
    FilterNotFound,
    InvalidFilter,
    NotificationsNotSupported,
    NotSupported,
    ReceiptTimeout,
    SubscriptionRejected,
    TooManyAlternatives,
    TooManyBlocks,
    TooManyResults,
    TooManySubscriptions,
    TooManyTopics,
    UnknownAccount,
    UnknownSubscription,
)
from entresol.errors.storage import (
    GenesisMismatch,
    InvalidProof,
    MissingNode,
    RebuildInterrupted,
    StoreDamaged,
    StoreFailed,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreTooNew,
    TrieError,
    WrongParent,
)
from entresol.errors.transactions import (
    AlreadyKnown,
    EmptyAuthorizations,
    FeeCapTooLow,
    GasLimitExceeded,
    InitCodeTooLarge,
    InsufficientFunds,
    IntrinsicGasTooLow,
    InvalidSignature,
    InvalidTransaction,
    MalformedTransaction,
    NonceOverflow,
    NonceTooHigh,
    NonceTooLow,
    NoPubdataLimit,
    PaymasterNotSupported,
    PoolFull,
    PoolRejection,
    ReplacementUnderpriced,
    SenderLimitExceeded,
    SenderNotEOA,
    TipAboveFeeCap,
    TipTooLow,
    TooManyFactoryDeps,
    TooManyMessages,
    TransactionTooLarge,
    UnprotectedTransaction,
    UnsupportedType,
    WrongChain,
)
from entresol.errors.values import (
    InvalidBytecode,
    InvalidGenesis,
    MalformedValue,
)

__all__ = [
    "AccountsLocked",
    "AddressForbidden",
    "AddressInUse",
    "AddressUnavailable",
    "AlreadyKnown",
    "BatchOverflow",
    "BlockFull",
    "BlockFullOfMessages",
    "BlockHashWithRange",
    "CallGasSpent",
    "DeadlinePassed",
    "DuplicatePrecompileMove",
    "EmptyAuthorizations",
    "EmptySimulation",
    "EngineError",
    "EnginePanicked",
    "EntresolError",
    "ExecutionCancelled",
    "ExecutionFailed",
    "ExecutionHalted",
    "ExecutionReverted",
    "ExecutionStopped",
    "FeeCapTooLow",
    "FilterNotFound",
    "GasAllowanceExceeded",
    "GasBudgetSpent",
    "GasLimitExceeded",
    "GenesisMismatch",
    "InitCodeTooLarge",
    "InsufficientFunds",
    "IntrinsicGasTooLow",
    "InvalidBytecode",
    "InvalidConfig",
    "InvalidFilter",
    "InvalidGenesis",
    "InvalidInterval",
    "InvalidOverride",
    "InvalidPercentiles",
    "InvalidProof",
    "InvalidSignature",
    "InvalidSimulation",
    "InvalidTransaction",
    "LayerOneFailed",
    "LayerOneMismatch",
    "LayerOneRejected",
    "LayerOneUnreachable",
    "ListenFailed",
    "MalformedTransaction",
    "MalformedValue",
    "MintOverflow",
    "MissingNode",
    "NoPubdataLimit",
    "NonceOverflow",
    "NonceTooHigh",
    "NonceTooLow",
    "NotAPrecompile",
    "NotSupported",
    "NotificationsNotSupported",
    "PaymasterNotSupported",
    "PoolFull",
    "PoolRejection",
    "PrecompileMovedToSelf",
    "RebuildInterrupted",
    "ReceiptTimeout",
    "ReplacementUnderpriced",
    "ReplayMismatch",
    "SenderLimitExceeded",
    "SenderNotEOA",
    "SimulatedCallRejected",
    "SimulatedNumberTooLow",
    "SimulatedTimeTooLow",
    "SimulationGasSpent",
    "SimulationTooLong",
    "StateUnavailable",
    "StoreDamaged",
    "StoreFailed",
    "StoreForeign",
    "StoreFull",
    "StoreLocked",
    "StoreTooNew",
    "SubscriptionRejected",
    "TimestampTooHigh",
    "TimestampTooLow",
    "TipAboveFeeCap",
    "TipTooLow",
    "TooManyAlternatives",
    "TooManyBlocks",
    "TooManyFactoryDeps",
    "TooManyMessages",
    "TooManyOverrides",
    "TooManyResults",
    "TooManySubscriptions",
    "TooManyToSeal",
    "TooManyTopics",
    "TraceTooLarge",
    "TransactionTooLarge",
    "TrieError",
    "UnknownAccount",
    "UnknownBlock",
    "UnknownSubscription",
    "UnknownTracer",
    "UnprotectedTransaction",
    "UnserializableCall",
    "UnsupportedType",
    "WrongChain",
    "WrongParent",
]
