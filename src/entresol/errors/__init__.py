"""Every error that this package raises on purpose, by module.

    EntresolError
    │
    │ values
    ├── MalformedValue                 text or bytes that do not encode the expected value
    ├── InvalidBytecode                cannot be published as a factory dependency
    ├── InvalidGenesis                 no chain can start with it
    ├── InvalidStateFile               not what anvil or this node dumps
    │   └── StateFileTooLarge          more than a client may send
    │
    │ transactions, zk_transactions
    ├── InvalidTransaction             cannot be included as it is
    │   ├── MalformedTransaction       the bytes do not encode a transaction
    │   ├── InvalidSignature           the signature is invalid
    │   ├── UnsupportedType            the chain does not accept the type
    │   ├── WrongChain                 signed for another chain id
    │   ├── NonceTooLow                the nonce is already used
    │   ├── NonceTooHigh               an earlier nonce is missing
    │   ├── NonceOverflow              the nonce has its maximum value
    │   ├── InsufficientFunds          the balance does not cover gas and value
    │   │   └── NotEnoughBalanceForFeeValue  the same for type 0x71
    │   ├── IntrinsicGasTooLow         the gas limit is below the intrinsic gas
    │   ├── GasLimitExceeded           the gas limit exceeds that of a block
    │   ├── TransactionGasTooHigh      the gas limit exceeds that of a transaction
    │   ├── FeeCapTooLow               the fee cap is below the base fee
    │   ├── TipAboveFeeCap             the tip is above the fee cap
    │   ├── TipTooLow                  the tip is below the minimum
    │   ├── SenderNotEOA               the sender has code
    │   ├── InitCodeTooLarge           the init code exceeds its limit
    │   ├── EmptyAuthorizations        sets code without authorizations
    │   ├── NoBlobs                    names no blobs, though its type has them
    │   ├── TooManyBlobs               names more blobs than allowed
    │   ├── BlobFeeCapTooLow           the blob fee cap is below the price of blob gas
    │   ├── MissingSidecar             was sent without its blobs
    │   ├── InvalidSidecar             other blobs than it names, or a wrong proof
    │   ├── TransactionTooLarge        exceeds the size limit
    │   ├── UnprotectedTransaction     has no chain id
    │   ├── NoPubdataLimit             the gas per pubdata limit is zero
    │   ├── PaymasterNotSupported      names a paymaster where there are none
    │   ├── AccountRejection           an account or a paymaster does not agree to it
    │   ├── EstimateRejection          the same for an estimate
    │   ├── TooManyFactoryDeps         has too many factory dependencies
    │   └── TooManyMessages            sends more messages to L1 than a batch can hold
    │
    │ pool
    ├── PoolRejection                  a valid transaction that the pool rejects
    │   ├── AlreadyKnown               is in the pool
    │   ├── ReplacementUnderpriced     the price bump is too small
    │   ├── SenderLimitExceeded        the sender has too many in the pool
    │   ├── PaymasterLimitExceeded     the paymaster has too many in the pool, or too little ether for them
    │   ├── MixedNonces                the sender has others in the pool that count by another nonce
    │   ├── Throttled                  the sender or the paymaster has failed too often
    │   ├── TransactionThrottled       blocks have rejected it too often
    │   ├── TooManyValidations         too many transactions are being validated
    │   ├── ValidationsThrottled       validations have failed too often lately
    │   └── PoolFull                   outranks no other transaction
    │
    │ execution
    ├── ExecutionFailed                an execution ended in failure
    │   ├── ExecutionReverted          REVERT, perhaps with a reason
    │   ├── ExecutionHalted            an exceptional halt
    │   │   └── CallGasSpent           out of gas at the gas cap of calls
    │   ├── GasAllowanceExceeded       no allowed gas limit suffices
    │   └── MintOverflow               the amount to mint overflows
    ├── UnserializableCall             cannot be encoded as a transaction
    ├── UnknownTracer                  no such tracer, or invalid options
    ├── InvalidOverride                an invalid state or block override
    │   ├── TooManyOverrides           overrides too many accounts or slots
    │   ├── NotAPrecompile             moves an account that is no precompile
    │   ├── PrecompileMovedToSelf      moves a precompile to its own address
    │   └── DuplicatePrecompileMove    moves two precompiles to one address
    │
    │ simulation
    ├── InvalidSimulation              blocks that cannot be simulated
    │   ├── EmptySimulation            there are none
    │   ├── SimulatedNumberTooLow      block numbers do not increase
    │   ├── SimulatedTimeTooLow        timestamps do not increase
    │   ├── SimulationTooLong          too many blocks
    │   ├── SimulationGasSpent         the gas cap of all calls is used up
    │   └── SimulatedCallRejected      a call that no block could include; the cause is chained
    │
    │ engine
    ├── EngineError                    no result; the state is unchanged
    │   ├── StateUnavailable           the state provider failed; the cause is chained
    │   ├── EnginePanicked             a bug in the engine
    │   └── ExecutionStopped           a limit of the caller was reached
    │       ├── GasBudgetSpent
    │       ├── DeadlinePassed
    │       ├── ExecutionCancelled
    │       └── TraceTooLarge
    │
    │ chain
    ├── UnknownBlock                   there is no such block
    ├── HistoryNotLoaded               the state file had no state of this block
    ├── ChainReplaced                  the chain was reverted or replaced meanwhile
    │   └── DumpInterrupted            while it was dumped
    ├── LoadRejected                   a state file that cannot be loaded here
    │   └── BestBlockMissing           without its last block
    ├── RollbackRejected
    │   ├── RollbackTooDeep            the chain has fewer blocks
    │   ├── RollbackUnknown            where the other layer was then
    │   ├── BelowSettledBatch          that a foreign L1 may have
    │   └── ReorgIndexTooHigh          a transaction for a block after the last
    ├── InvalidInterval                not a positive number of seconds
    ├── InvalidPercentiles             not ascending numbers from 0 to 100
    ├── TimestampTooLow                below the last block's
    ├── TimestampNotLater              the last block's, by the rules of Hardhat
    ├── TimestampTooHigh               leaves too few for later blocks
    ├── TooManyToSeal                  more blocks than one request may seal
    ├── BlockFull                      a transaction does not fit into the block
    │   ├── BlockFullOfMessages        its messages to L1 do not fit
    │   └── BlockFullOfBlobs           its blobs do not fit, or cost too much
    ├── ReplayMismatch                 a block differs from its record when re-executed
    ├── BatchOverflow                  exceeds what a batch can hold
    │
    │ storage
    ├── StoreFailed                    a data directory that cannot be used
    │   ├── StoreLocked                another process has it open
    │   ├── StoreForeign               contains something else
    │   ├── StoreTooNew                written by a newer version
    │   ├── StoreDamaged               corrupted
    │   ├── StoreFull                  no space left on the disk
    │   ├── RebuildInterrupted         has to be rebuilt again
    │   ├── GenesisMismatch            contains a chain with another genesis
    │   └── WrongParent                a block that does not follow the head
    ├── TrieError                      a trie or proof that does not match its root
    │   ├── MissingNode                a trie node is not in the store
    │   └── InvalidProof               a proof does not lead from the root to the key
    │
    │ l1
    ├── LayerOneFailed                 a request to L1 failed
    │   ├── LayerOneUnreachable        no connection, or no response in time
    │   ├── LayerOneRejected           L1 responded with an error
    │   ├── LayerOneMalformed          L1 responded with a result that the method cannot have
    │   ├── TooManyL1Requests          more than the node passes on to a remote L1
    │   ├── LayerOneMismatch           not, or no longer, the L1 that the chain settles on
    │   │   └── DepositsMissing        its logs have fewer deposits than its contract counts
    │   ├── L1FeeTooHigh               its base fee is above the operator's limit
    │   └── OperatorOutOfFunds         the operator cannot pay for a transaction
    │
    │ cluster
    ├── ClusterFailed                  the cluster cannot be used
    │   ├── ClusterUnreachable         its database does not respond
    │   ├── ClusterFenced              another node has taken over
    │   ├── OutcomeUnknown             the connection broke during a write
    │   ├── LogTailLost                the log ends before what this node has applied
    │   ├── LogTruncated               the log begins after what this node needs
    │   ├── LogDamaged                 an entry does not have its digest
    │   └── DepositsNotNext            a block skips or repeats a deposit
    │
    │ devnet
    ├── DevnetError                    for the program that runs a devnet; no response has it
    │   ├── DevnetStopped              a request to a devnet that is not running
    │   ├── MethodFailed               a layer of a devnet has responded with an error
    │   ├── SnapshotLost               what should be restored is gone
    │   └── BridgeFailed               something on the bridge has reverted, or is not settled in time
    │
    │ debug
    ├── NotInspectable                 is not there, or cannot be inspected
    │   ├── BlockNotFound              there is no block to inspect
    │   ├── TransactionNotFound        no block contains the transaction
    │   ├── TransactionIndexTooHigh    the block has fewer transactions
    │   ├── GenesisNotExecuted         there is nothing to execute again
    │   │   └── GenesisNotTraceable    nor to trace
    │   ├── NotExecutedHere            a block of another node
    │   ├── PendingNotTraceable        changes all the time
    │   └── SearchTooLong              has read as many blocks as it may
    ├── InvalidTraceRange              too many blocks, or none
    │
    │ rpc
    ├── UnknownAccount                 neither a key nor impersonated
    ├── AccountsLocked                 the node signs for no account
    ├── ReceiptTimeout                 no block included the transaction in time
    ├── TransactionFailed              a transaction failed in its block, in Hardhat's form
    ├── NotSupported                   a feature that the node does not support
    ├── ControlRejected                a developer method that is rejected, with the reason
    ├── TokenSlotNotFound              a token stores a balance in no slot that can be set
    ├── TooManySlots                   more storage slots than a request may name
    ├── TooManyCalls                   more calls than a request may make
    ├── TooManyLongCalls               more calls than a client may have waiting for a thread
    ├── InvalidFilter                  an invalid log filter
    │   ├── TooManyTopics              more topics than a log can have
    │   ├── TooManyAlternatives        too many addresses, or topics at a position
    │   ├── BlockHashWithRange         a block hash beside a block range
    │   ├── InvalidBlockRange          ends before it begins, on an L1
    │   ├── BlockAboveHead             begins above the head, on an L1
    │   ├── TooManyResults             more logs than a response may have
    │   └── TooManyBlocks              a wider range than allowed
    ├── FilterNotFound                 no such filter, or it has expired
    ├── FilterMemoryFull               filters and subscriptions take too much memory together
    ├── SubscriptionRejected
    │   ├── UnknownSubscription        no such kind of subscription
    │   ├── NotificationsNotSupported  the connection cannot carry notifications
    │   └── TooManySubscriptions       the connection has too many
    ├── ProducerUnavailable            does not respond to what a replica forwards
    │
    │ config
    ├── InvalidConfig                  an invalid setting, named with its source
    └── ListenFailed                   the server cannot listen on its address
        ├── AddressInUse               another process listens on the port
        ├── AddressUnavailable         the machine has no such address
        ├── SocketUnavailable          the path of the Unix socket is in use, or cannot be made
        └── AddressForbidden           the port needs privileges

Any other exception is a bug and is reported as one.
"""

from entresol.errors.base import EntresolError
from entresol.errors.chain import (
    BatchOverflow,
    BelowSettledBatch,
    BestBlockMissing,
    BlockFull,
    BlockFullOfBlobs,
    BlockFullOfMessages,
    ChainReplaced,
    DumpInterrupted,
    HistoryNotLoaded,
    InvalidInterval,
    InvalidPercentiles,
    LoadRejected,
    ReorgIndexTooHigh,
    ReplayMismatch,
    RollbackRejected,
    RollbackTooDeep,
    RollbackUnknown,
    TimestampNotLater,
    TimestampTooHigh,
    TimestampTooLow,
    TooManyToSeal,
    UnknownBlock,
)
from entresol.errors.cluster import (
    ClusterFailed,
    ClusterFenced,
    ClusterUnreachable,
    DepositsNotNext,
    LogDamaged,
    LogTailLost,
    LogTruncated,
    OutcomeUnknown,
)
from entresol.errors.config import (
    AddressForbidden,
    AddressInUse,
    AddressUnavailable,
    InvalidConfig,
    ListenFailed,
    SocketUnavailable,
)
from entresol.errors.debug import (
    BlockNotFound,
    GenesisNotExecuted,
    GenesisNotTraceable,
    InvalidTraceRange,
    NotExecutedHere,
    NotInspectable,
    PendingNotTraceable,
    SearchTooLong,
    TransactionIndexTooHigh,
    TransactionNotFound,
)
from entresol.errors.devnet import (
    BridgeFailed,
    DevnetError,
    DevnetStopped,
    MethodFailed,
    SnapshotLost,
)
from entresol.errors.engine import (
    DeadlinePassed,
    EngineError,
    EnginePanicked,
    ExecutionCancelled,
    ExecutionStopped,
    GasBudgetSpent,
    StateUnavailable,
    TraceTooLarge,
)
from entresol.errors.execution import (
    CallGasSpent,
    DuplicatePrecompileMove,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionReverted,
    GasAllowanceExceeded,
    InvalidOverride,
    MintOverflow,
    NotAPrecompile,
    PrecompileMovedToSelf,
    TooManyOverrides,
    UnknownTracer,
    UnserializableCall,
)
from entresol.errors.l1 import (
    DepositsMissing,
    L1FeeTooHigh,
    LayerOneFailed,
    LayerOneMalformed,
    LayerOneMismatch,
    LayerOneRejected,
    LayerOneUnreachable,
    OperatorOutOfFunds,
    TooManyL1Requests,
)
from entresol.errors.pool import (
    AlreadyKnown,
    MixedNonces,
    PaymasterLimitExceeded,
    PoolFull,
    PoolRejection,
    ReplacementUnderpriced,
    SenderLimitExceeded,
    Throttled,
    TooManyValidations,
    TransactionThrottled,
    ValidationsThrottled,
)
from entresol.errors.rpc import (
    AccountsLocked,
    BlockAboveHead,
    BlockHashWithRange,
    ControlRejected,
    FilterMemoryFull,
    FilterNotFound,
    InvalidBlockRange,
    InvalidFilter,
    NotificationsNotSupported,
    NotSupported,
    ProducerUnavailable,
    ReceiptTimeout,
    SubscriptionRejected,
    TokenSlotNotFound,
    TooManyAlternatives,
    TooManyBlocks,
    TooManyCalls,
    TooManyLongCalls,
    TooManyResults,
    TooManySlots,
    TooManySubscriptions,
    TooManyTopics,
    TransactionFailed,
    UnknownAccount,
    UnknownSubscription,
)
from entresol.errors.simulation import (
    EmptySimulation,
    InvalidSimulation,
    SimulatedCallRejected,
    SimulatedNumberTooLow,
    SimulatedTimeTooLow,
    SimulationGasSpent,
    SimulationTooLong,
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
    BlobFeeCapTooLow,
    EmptyAuthorizations,
    FeeCapTooLow,
    GasLimitExceeded,
    InitCodeTooLarge,
    InsufficientFunds,
    IntrinsicGasTooLow,
    InvalidSidecar,
    InvalidSignature,
    InvalidTransaction,
    MalformedTransaction,
    MissingSidecar,
    NoBlobs,
    NonceOverflow,
    NonceTooHigh,
    NonceTooLow,
    SenderNotEOA,
    TipAboveFeeCap,
    TipTooLow,
    TooManyBlobs,
    TransactionGasTooHigh,
    TransactionTooLarge,
    UnprotectedTransaction,
    UnsupportedType,
    WrongChain,
)
from entresol.errors.values import (
    InvalidBytecode,
    InvalidGenesis,
    InvalidStateFile,
    MalformedValue,
    StateFileTooLarge,
)
from entresol.errors.zk_transactions import (
    AccountRejection,
    EstimateRejection,
    NoPubdataLimit,
    NotEnoughBalanceForFeeValue,
    PaymasterNotSupported,
    TooManyFactoryDeps,
    TooManyMessages,
)

__all__ = [
    "AccountRejection",
    "AccountsLocked",
    "AddressForbidden",
    "AddressInUse",
    "AddressUnavailable",
    "AlreadyKnown",
    "BatchOverflow",
    "BelowSettledBatch",
    "BestBlockMissing",
    "BlobFeeCapTooLow",
    "BlockAboveHead",
    "BlockFull",
    "BlockFullOfBlobs",
    "BlockFullOfMessages",
    "BlockHashWithRange",
    "BlockNotFound",
    "BridgeFailed",
    "CallGasSpent",
    "ChainReplaced",
    "ClusterFailed",
    "ClusterFenced",
    "ClusterUnreachable",
    "ControlRejected",
    "DeadlinePassed",
    "DepositsMissing",
    "DepositsNotNext",
    "DevnetError",
    "DevnetStopped",
    "DumpInterrupted",
    "DuplicatePrecompileMove",
    "EmptyAuthorizations",
    "EmptySimulation",
    "EngineError",
    "EnginePanicked",
    "EntresolError",
    "EstimateRejection",
    "ExecutionCancelled",
    "ExecutionFailed",
    "ExecutionHalted",
    "ExecutionReverted",
    "ExecutionStopped",
    "FeeCapTooLow",
    "FilterMemoryFull",
    "FilterNotFound",
    "GasAllowanceExceeded",
    "GasBudgetSpent",
    "GasLimitExceeded",
    "GenesisMismatch",
    "GenesisNotExecuted",
    "GenesisNotTraceable",
    "HistoryNotLoaded",
    "InitCodeTooLarge",
    "InsufficientFunds",
    "IntrinsicGasTooLow",
    "InvalidBlockRange",
    "InvalidBytecode",
    "InvalidConfig",
    "InvalidFilter",
    "InvalidGenesis",
    "InvalidInterval",
    "InvalidOverride",
    "InvalidPercentiles",
    "InvalidProof",
    "InvalidSidecar",
    "InvalidSignature",
    "InvalidSimulation",
    "InvalidStateFile",
    "InvalidTraceRange",
    "InvalidTransaction",
    "L1FeeTooHigh",
    "LayerOneFailed",
    "LayerOneMalformed",
    "LayerOneMismatch",
    "LayerOneRejected",
    "LayerOneUnreachable",
    "ListenFailed",
    "LoadRejected",
    "LogDamaged",
    "LogTailLost",
    "LogTruncated",
    "MalformedTransaction",
    "MalformedValue",
    "MethodFailed",
    "MintOverflow",
    "MissingNode",
    "MissingSidecar",
    "MixedNonces",
    "NoBlobs",
    "NoProducer",
    "NoPubdataLimit",
    "NonceOverflow",
    "NonceTooHigh",
    "NonceTooLow",
    "NotAPrecompile",
    "NotEnoughBalanceForFeeValue",
    "NotExecutedHere",
    "NotInspectable",
    "NotSupported",
    "NotificationsNotSupported",
    "OperatorOutOfFunds",
    "OutcomeUnknown",
    "PaymasterLimitExceeded",
    "PaymasterNotSupported",
    "PendingNotTraceable",
    "PoolFull",
    "PoolRejection",
    "PrecompileMovedToSelf",
    "ProducerUnavailable",
    "RebuildInterrupted",
    "ReceiptTimeout",
    "ReorgIndexTooHigh",
    "ReplacementUnderpriced",
    "ReplayMismatch",
    "RollbackRejected",
    "RollbackTooDeep",
    "RollbackUnknown",
    "SearchTooLong",
    "SenderLimitExceeded",
    "SenderNotEOA",
    "SimulatedCallRejected",
    "SimulatedNumberTooLow",
    "SimulatedTimeTooLow",
    "SimulationGasSpent",
    "SimulationTooLong",
    "SnapshotLost",
    "SocketUnavailable",
    "StateFileTooLarge",
    "StateUnavailable",
    "StoreDamaged",
    "StoreFailed",
    "StoreForeign",
    "StoreFull",
    "StoreLocked",
    "StoreTooNew",
    "SubscriptionRejected",
    "Throttled",
    "TimestampNotLater",
    "TimestampTooHigh",
    "TimestampTooLow",
    "TipAboveFeeCap",
    "TipTooLow",
    "TokenSlotNotFound",
    "TooManyAlternatives",
    "TooManyBlobs",
    "TooManyBlocks",
    "TooManyCalls",
    "TooManyFactoryDeps",
    "TooManyL1Requests",
    "TooManyLongCalls",
    "TooManyMessages",
    "TooManyOverrides",
    "TooManyResults",
    "TooManySlots",
    "TooManySubscriptions",
    "TooManyToSeal",
    "TooManyTopics",
    "TooManyValidations",
    "TraceTooLarge",
    "TransactionFailed",
    "TransactionGasTooHigh",
    "TransactionIndexTooHigh",
    "TransactionNotFound",
    "TransactionThrottled",
    "TransactionTooLarge",
    "TrieError",
    "UnknownAccount",
    "UnknownBlock",
    "UnknownSubscription",
    "UnknownTracer",
    "UnprotectedTransaction",
    "UnserializableCall",
    "UnsupportedType",
    "ValidationsThrottled",
    "WrongChain",
    "WrongParent",
]
