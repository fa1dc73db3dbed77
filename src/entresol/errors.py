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
    ├── PoolRefusal                a valid transaction that the pool has no place for
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
    │   ├── MovedOntoItself        a precompile would stay where it is
    │   └── MovedTogether          two precompiles would be at one address
    ├── InvalidSimulation          blocks that cannot be simulated as they are described
    │   ├── EmptySimulation        there are none
    │   ├── SimulatedNumberTooLow  a number that is not above the last one
    │   ├── SimulatedTimeTooLow    a timestamp that is not after the last one
    │   ├── SimulationTooLong      more blocks than one simulation may have
    │   ├── SimulationGasSpent     the calls before this one used all gas there is
    │   └── SimulatedCallRefused   a call that no block could include; the cause is chained
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
    ├── ReplayDiffers              a block that does not come out as its record says
    ├── UnknownTracer              no tracer has this name, or it refuses its options
    ├── InvalidFilter              a question for logs that cannot be answered as it stands
    │   ├── TooManyTopics          more topics than a log can have
    │   ├── TooManyAlternatives    more addresses, or topics at a position, than one filter may have
    │   ├── HashAndRange           one block and a range of blocks at once
    │   ├── TooManyResults         more logs than one answer has
    │   └── TooManyBlocks          a wider range than one question may have
    ├── FilterNotFound             no filter has this id, or not any more
    ├── SubscriptionRefused        nobody can listen to this
    │   ├── UnknownSubscription    there is nothing of this name to listen to
    │   ├── NothingToPushOver      the connection has no way to tell the client anything
    │   └── TooManySubscriptions   the connection listens to enough already
    ├── TrieError
    │   ├── MissingNode            a trie node that the root refers to is not in the store
    │   └── InvalidProof           a proof that does not lead from the root to the key
    ├── BatchOverflow              more in a batch than a batch can have
    ├── LayerOneFailed             L1 did not do what it was asked for
    │   ├── LayerOneUnreachable    nobody answers there, or not in time: waiting may help
    │   ├── LayerOneRefused        it answered with an error
    │   └── LayerOneDiffers        it is not, or not any more, the L1 that this chain is tied to
    ├── StoreFailed                the directory of a chain cannot be used
    │   ├── StoreLocked            another process has it open
    │   ├── StoreForeign           something else is in it
    │   ├── StoreTooNew            a newer version wrote it
    │   ├── StoreDamaged           it cannot be read
    │   ├── StoreFull              there is no space left
    │   ├── StoreUnfinished        its indexes are being made anew
    │   ├── GenesisDiffers         the chain in it began otherwise
    │   └── WrongParent            a record that does not continue the chain
    └── ListenFailed               the server cannot listen where it should
        ├── AddressInUse           somebody else listens there
        ├── AddressUnavailable     this machine has no such address
        └── AddressForbidden       the system does not allow that port

Anything else that escapes is a bug and is reported as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class EntresolError(Exception):
    """A failure that is part of normal operation."""


class MalformedValue(EntresolError):
    """Text or bytes are not the value they should be."""

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.problem = problem
        self.field = field


class InvalidBytecode(EntresolError):
    """Code cannot be published as a factory dependency."""


class InvalidGenesis(EntresolError):
    """A chain cannot start with what the genesis says."""

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.problem = problem
        self.field = field


class InvalidTransaction(EntresolError):
    """A transaction cannot be included as it stands."""


class MalformedTransaction(InvalidTransaction):
    """The bytes are not a transaction."""

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.problem = problem
        self.field = field


class InvalidSignature(InvalidTransaction):
    """Nobody can have signed the transaction."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"invalid signature: {problem}")


class UnsupportedType(InvalidTransaction):
    """The chain does not take transactions of this type."""

    def __init__(self, transaction_type: int) -> None:
        super().__init__(f"transaction type not supported: {transaction_type:#x}")
        self.transaction_type = transaction_type


class WrongChain(InvalidTransaction):
    """The transaction was signed for another chain."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"invalid chain id for signer: have {got:d} want {expected:d}")
        self.expected = expected
        self.got = got


class NonceTooLow(InvalidTransaction):
    """The sender already used this nonce."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"nonce too low: next nonce {expected:d}, tx nonce {got:d}")
        self.expected = expected
        self.got = got


class NonceTooHigh(InvalidTransaction):
    """An earlier nonce of the sender is missing."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"nonce too high: next nonce {expected:d}, tx nonce {got:d}")
        self.expected = expected
        self.got = got


class NonceOverflow(InvalidTransaction):
    """The sender has no nonce left."""

    def __init__(self) -> None:
        super().__init__("nonce has max value")


class InsufficientFunds(InvalidTransaction):
    """The sender cannot pay for gas and value."""

    def __init__(self, balance: int, cost: int) -> None:
        super().__init__(
            f"insufficient funds for gas * price + value: have {balance:d} want {cost:d}"
        )
        self.balance = balance
        self.cost = cost


class IntrinsicGasTooLow(InvalidTransaction):
    """The gas limit does not pay for being included."""

    def __init__(self, gas_limit: int, needed: int) -> None:
        super().__init__(f"intrinsic gas too low: gas {gas_limit:d}, minimum needed {needed:d}")
        self.gas_limit = gas_limit
        self.needed = needed


class GasLimitExceeded(InvalidTransaction):
    """The transaction asks for more gas than a block or a transaction may use."""

    def __init__(self, gas_limit: int, cap: int) -> None:
        super().__init__(f"exceeds block gas limit: gas {gas_limit:d}, maximum {cap:d}")
        self.gas_limit = gas_limit
        self.cap = cap


class FeeCapTooLow(InvalidTransaction):
    """The transaction offers less than the base fee."""

    def __init__(self, fee_cap: int, base_fee: int) -> None:
        super().__init__(
            f"max fee per gas less than block base fee: maxFeePerGas {fee_cap:d}, baseFee {base_fee:d}"
        )
        self.fee_cap = fee_cap
        self.base_fee = base_fee


class TipAboveFeeCap(InvalidTransaction):
    """The transaction offers a tip above its own fee cap."""

    def __init__(self, tip: int, fee_cap: int) -> None:
        super().__init__(
            f"max priority fee per gas higher than max fee per gas: "
            f"maxPriorityFeePerGas {tip:d}, maxFeePerGas {fee_cap:d}"
        )
        self.tip = tip
        self.fee_cap = fee_cap


class SenderNotEOA(InvalidTransaction):
    """The sender has code that is not a delegation."""

    def __init__(self) -> None:
        super().__init__("sender not an eoa")


class InitCodeTooLarge(InvalidTransaction):
    """The transaction creates a contract from too much code."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"max initcode size exceeded: code size {size:d}, limit {limit:d}")
        self.size = size
        self.limit = limit


class EmptyAuthorizations(InvalidTransaction):
    """A set-code transaction names no authorization."""

    def __init__(self) -> None:
        super().__init__("set code transaction with empty auth list")


class TransactionTooLarge(InvalidTransaction):
    """The transaction is longer than the chain takes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"oversized data: transaction size {size:d}, limit {limit:d}")
        self.size = size
        self.limit = limit


class UnprotectedTransaction(InvalidTransaction):
    """The transaction names no chain, so anybody could send it on another one."""

    def __init__(self) -> None:
        super().__init__("only replay-protected (EIP-155) transactions allowed over RPC")


class NoPubdataLimit(InvalidTransaction):
    """The transaction allows no gas for a byte of published data."""

    def __init__(self) -> None:
        super().__init__("gas per pub data limit is zero")


class PaymasterNotSupported(InvalidTransaction):
    """The transaction wants somebody else to pay its fee."""

    def __init__(self, paymaster: bytes) -> None:
        super().__init__(
            f"failed paymaster validation: paymasters are not supported, and 0x{paymaster.hex()} "
            "is named as one; the sender has to pay"
        )
        self.paymaster = paymaster


class TooManyFactoryDeps(InvalidTransaction):
    """The transaction publishes more factory dependencies than it may."""

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(
            "too many factory dependencies in the transaction. "
            f"{count} provided, while only {limit} allowed"
        )
        self.count = count
        self.limit = limit


class TooManyMessages(InvalidTransaction):
    """It sends more messages to L1 than a batch can have."""

    def __init__(self, sent: int, most: int) -> None:
        super().__init__(
            f"the transaction sends {sent:d} messages to L1, and a batch has {most:d} at most"
        )
        self.sent = sent
        self.most = most


class TipTooLow(InvalidTransaction):
    """The transaction offers less than the least tip."""

    def __init__(self, tip: int, minimum: int) -> None:
        super().__init__(
            f"transaction underpriced: gas tip cap {tip:d}, minimum needed {minimum:d}"
        )
        self.tip = tip
        self.minimum = minimum


class PoolRefusal(EntresolError):
    """The pool has no place for a transaction that is valid."""


class AlreadyKnown(PoolRefusal):
    """The transaction is in the pool."""

    def __init__(self) -> None:
        super().__init__("already known")


class ReplacementUnderpriced(PoolRefusal):
    """The transaction offers too little more than the one with the same nonce."""

    def __init__(self, fee_cap: int, tip: int) -> None:
        super().__init__(
            f"replacement transaction underpriced: "
            f"maxFeePerGas {fee_cap:d} and maxPriorityFeePerGas {tip:d} needed"
        )
        self.fee_cap = fee_cap
        self.tip = tip


class SenderLimitExceeded(PoolRefusal):
    """The sender has as many transactions in the pool as one may have."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"account limit exceeded: {limit} transactions")
        self.limit = limit


class PoolFull(PoolRefusal):
    """The pool is full of transactions that are worth as much."""

    def __init__(self) -> None:
        super().__init__("txpool is full")


class UnknownAccount(EntresolError):
    """The node has no key of an account, and does not impersonate it."""

    def __init__(self, address: bytes | None) -> None:
        if address is None:
            super().__init__("unknown account: the node has none, so say `from` and impersonate it")
        else:
            super().__init__(
                f"unknown account: 0x{address.hex()} is neither in eth_accounts nor impersonated"
            )
        self.address = address


class AccountsLocked(EntresolError):
    """The node signs for nobody and impersonates nobody."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the accounts of this node are locked: {reason}")


class ReceiptTimeout(EntresolError):
    """A transaction waits for a block longer than somebody waits for its receipt."""

    def __init__(self, transaction_hash: bytes, seconds: float) -> None:
        super().__init__(
            f"the transaction was added to the pool, but no block included it in {seconds:g} s"
        )
        self.transaction_hash = transaction_hash


class NotSupported(EntresolError):
    """Clients may ask for it, but the node takes no part in it."""

    def __init__(self, why: str) -> None:
        super().__init__(f"Not implemented: {why}")


class ExecutionFailed(EntresolError):
    """A call ran, and failing is its answer."""


class ExecutionReverted(ExecutionFailed):
    """The execution gave up; `data` is what it said, `reason` what that means if it is known."""

    def __init__(self, data: bytes, reason: str | None = None) -> None:
        super().__init__(
            "execution reverted" if reason is None else f"execution reverted: {reason}"
        )
        self.data = data
        self.reason = reason


class ExecutionHalted(ExecutionFailed):
    """The execution broke a rule of the machine and lost all its gas."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CallGasSpent(ExecutionHalted):
    """The call used all the gas that this node lets a call have."""

    def __init__(self, cap: int) -> None:
        super().__init__(f"out of gas: a call may use {cap:d} gas")
        self.cap = cap


class GasAllowanceExceeded(ExecutionFailed):
    """The execution runs out of gas even at the highest gas limit that is allowed."""

    def __init__(self, allowance: int) -> None:
        super().__init__(f"gas required exceeds allowance ({allowance:d})")
        self.allowance = allowance


class MintOverflow(ExecutionFailed):
    """A request needs more ether on L2 than there can be."""

    def __init__(self) -> None:
        super().__init__("integer overflow computing base token amount to mint")


class UnserializableCall(EntresolError):
    """No transaction can be made of a call."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"Failed to serialize transaction: {problem}")


class InvalidOverride(EntresolError):
    """A what-if question assumes something that cannot be."""


class TooManyOverrides(InvalidOverride):
    """A question assumes more accounts, or more slots, than it may; `place` is where it is too much."""

    def __init__(self, place: str, noun: str, count: int, limit: int) -> None:
        super().__init__(f"{place}: a question assumes at most {limit} {noun}, got {count}")
        self.place = place
        self.count = count
        self.limit = limit


class NotAPrecompile(InvalidOverride):
    """What a question wants to move is no precompile."""

    def __init__(self, address: bytes) -> None:
        super().__init__(f"account 0x{address.hex()} is not a precompile")


class MovedOntoItself(InvalidOverride):
    """A question wants to move a precompile to where it is."""

    def __init__(self, address: bytes) -> None:
        super().__init__(f"account 0x{address.hex()} is moved to itself")


class MovedTogether(InvalidOverride):
    """A question wants to move two precompiles to one address."""

    def __init__(self, address: bytes) -> None:
        super().__init__(f"two precompiles are moved to account 0x{address.hex()}")


class InvalidSimulation(EntresolError):
    """Blocks cannot be simulated as they are described."""


class EmptySimulation(InvalidSimulation):
    """A simulation has no blocks."""

    def __init__(self) -> None:
        super().__init__("empty input: blockStateCalls has no blocks")


class SimulatedNumberTooLow(InvalidSimulation):
    """The number of a simulated block is not above that of the block before it."""

    def __init__(self, number: int, last: int) -> None:
        super().__init__(f"block numbers must be in order: {number:d} <= {last:d}")


class SimulatedTimeTooLow(InvalidSimulation):
    """The timestamp of a simulated block is not after that of the block before it."""

    def __init__(self, timestamp: int, last: int) -> None:
        super().__init__(f"block timestamps must be in order: {timestamp:d} <= {last:d}")


class SimulationTooLong(InvalidSimulation):
    """A simulation has more blocks than allowed, with those that fill gaps."""

    def __init__(self, blocks: int, limit: int) -> None:
        super().__init__(f"too many blocks: {blocks:d}, and a simulation has at most {limit:d}")


class SimulationGasSpent(InvalidSimulation):
    """The calls of a simulation have used all the gas that they may use together."""

    def __init__(self, cap: int) -> None:
        super().__init__(f"the calls of a simulation may use {cap:d} gas together, and they have")


class SimulatedCallRefused(InvalidSimulation):
    """A simulated call could not be included in any block; the cause says why."""

    def __init__(self, place: str, reason: EntresolError) -> None:
        super().__init__(f"{place}: {reason}")
        self.reason = reason


class EngineError(EntresolError):
    """The engine could not finish, so nothing is known of the outcome."""


class StateUnavailable(EngineError):
    """The state source failed; its exception is the cause of this one."""


class EnginePanicked(EngineError):
    """The engine hit a bug of its own; the state is as it was before the call."""


class ExecutionStopped(EngineError):
    """A limit of the caller's was reached before the execution ended."""


class GasBudgetSpent(ExecutionStopped):
    """The execution used more gas than the caller wanted to spend on it here."""


class DeadlinePassed(ExecutionStopped):
    """The execution took longer than the caller allowed."""


class ExecutionCancelled(ExecutionStopped):
    """The caller raised the cancel flag."""


class TraceTooLarge(ExecutionStopped):
    """The trace outgrew the memory the caller allowed."""


class UnknownBlock(EntresolError):
    """There is no such block."""

    def __init__(self, block: int | bytes) -> None:
        name = f"number {block}" if isinstance(block, int) else f"hash 0x{block.hex()}"
        super().__init__(f"there is no block with the {name}")
        self.block = block


class InvalidConfig(EntresolError):
    """A setting makes no sense."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}" if source else problem)
        self.source = source
        self.problem = problem


class InvalidInterval(EntresolError):
    """The time between blocks is not a time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"an interval is a positive number of seconds, got {seconds}")
        self.seconds = seconds


class InvalidPercentiles(EntresolError):
    """Percentiles are not from 0 to 100, or in disorder."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"invalid `eth_feeHistory` reward percentiles: {problem}")


class TimestampTooLow(EntresolError):
    """The time for the next block is not after the last one's."""

    def __init__(self, timestamp: int, parent: int) -> None:
        super().__init__(
            f"timestamp {timestamp:d} is not after the last block's, which is {parent:d}"
        )
        self.timestamp = timestamp
        self.parent = parent


class TimestampTooHigh(EntresolError):
    """The time is so late that blocks after it would soon have none left."""

    def __init__(self, timestamp: int, latest: int) -> None:
        super().__init__(
            f"timestamp {timestamp:d} is too late: the latest that can be set is {latest:d}"
        )
        self.timestamp = timestamp
        self.latest = latest


class TooManyToSeal(EntresolError):
    """A request asks for more blocks to be sealed than one may."""

    def __init__(self, blocks: int, limit: int) -> None:
        super().__init__(f"one request seals at most {limit:d} blocks, got {blocks:d}")
        self.blocks = blocks
        self.limit = limit


class BlockFull(EntresolError):
    """A transaction has no room in the block that is being built."""

    def __init__(self, gas_limit: int, gas_left: int) -> None:
        super().__init__(
            f"the block has {gas_left:d} gas left, the transaction asks for {gas_limit:d}"
        )
        self.gas_limit = gas_limit
        self.gas_left = gas_left


class BlockFullOfMessages(BlockFull):
    """A transaction's messages to L1 have no room in the block: no batch could take them all."""

    def __init__(self, sent: int, most: int) -> None:
        super(BlockFull, self).__init__(
            f"the block would have {sent:d} messages to L1, and a batch has {most:d} at most"
        )
        self.sent = sent
        self.most = most


class ReplayDiffers(EntresolError):
    """A block does not come out as its record says."""

    def __init__(self, number: int, difference: str) -> None:
        super().__init__(f"block {number} does not come out as recorded: {difference}")
        self.number = number
        self.difference = difference


class UnknownTracer(EntresolError):
    """No tracer has this name, or it refuses its options."""


class InvalidFilter(EntresolError):
    """A question for logs cannot be answered as it stands."""


class TooManyTopics(InvalidFilter):
    """The filter names more topics than a log can have."""

    def __init__(self) -> None:
        super().__init__("More than four topics in filter")


class TooManyAlternatives(InvalidFilter):
    """The filter names more addresses, or more topics at one position, than it may."""

    def __init__(self, place: str, count: int, limit: int) -> None:
        super().__init__(f"{place}: a filter names at most {limit} in one place, got {count}")
        self.place = place
        self.count = count
        self.limit = limit


class HashAndRange(InvalidFilter):
    """The filter names one block by its hash, and a range of blocks as well."""

    def __init__(self) -> None:
        super().__init__(
            "invalid filter: if blockHash is supplied fromBlock and toBlock must not be"
        )


class TooManyResults(InvalidFilter):
    """More logs were found than one answer has; those from `first` to `last` would fit."""

    def __init__(self, limit: int, first: int, last: int) -> None:
        super().__init__(
            f"Query returned more than {limit} results. "
            f"Try with this block range [{first:#x}, {last:#x}]."
        )
        self.limit = limit
        self.first = first
        self.last = last


class TooManyBlocks(InvalidFilter):
    """The range is wider than one question may have; the one from `first` to `last` would do."""

    def __init__(self, limit: int, first: int, last: int) -> None:
        super().__init__(
            f"Query covers more than {limit} blocks. "
            f"Try with this block range [{first:#x}, {last:#x}]."
        )
        self.limit = limit
        self.first = first
        self.last = last


class FilterNotFound(EntresolError):
    """No filter has this id, or not any more."""

    def __init__(self) -> None:
        super().__init__("filter not found")


class SubscriptionRefused(EntresolError):
    """Nobody can listen to this."""


class UnknownSubscription(SubscriptionRefused):
    """There is nothing of this name to listen to."""

    def __init__(self) -> None:
        super().__init__("Rejecting subscription - invalid parameters provided.")


class NothingToPushOver(SubscriptionRefused):
    """The connection has no way to tell the client anything unasked."""

    def __init__(self) -> None:
        super().__init__("notifications not supported: subscriptions need a WebSocket")


class TooManySubscriptions(SubscriptionRefused):
    """The connection listens to as much as one may."""

    def __init__(self, limit: int) -> None:
        super().__init__("Too many subscriptions on the connection")
        self.limit = limit


class TrieError(EntresolError):
    """A trie or a proof is not what its root says."""


class MissingNode(TrieError):
    """A trie node that the root refers to is not in the store."""

    def __init__(self, node_hash: bytes) -> None:
        super().__init__(f"trie node 0x{node_hash.hex()} is missing")
        self.node_hash = node_hash


class InvalidProof(TrieError):
    """A proof does not lead from the root to the key."""


class BatchOverflow(EntresolError):
    """There is more in a batch than a batch can have."""


class LayerOneFailed(EntresolError):
    """L1 did not do what it was asked for."""


class LayerOneUnreachable(LayerOneFailed):
    """Nobody answers where L1 should be, or not in time; waiting may help."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"L1 at {url} cannot be reached: {problem}")
        self.url = url
        self.problem = problem


class LayerOneRefused(LayerOneFailed):
    """L1 answered with an error."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"L1 refused {method}: {message} (code {code})")
        self.method = method
        self.code = code
        self.message = message


class LayerOneDiffers(LayerOneFailed):
    """L1 is not, or not any more, the one that this chain is tied to."""


class StoreFailed(EntresolError):
    """The directory of a chain cannot be used."""


class StoreLocked(StoreFailed):
    """Another process has the directory open."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is in use by another process: stop it, or choose another directory"
        )
        self.path = path


class StoreForeign(StoreFailed):
    """Something else is in the directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is not empty and holds no chain: choose an empty or missing directory"
        )
        self.path = path


class StoreTooNew(StoreFailed):
    """A newer version wrote the directory."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"{path} has format {found}, and this version knows up to {known}: update entresol"
        )
        self.path = path
        self.found = found
        self.known = known


class StoreDamaged(StoreFailed):
    """The directory cannot be read."""

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(f"{path} is damaged ({detail}): restore it from a copy, or start anew")
        self.path = path
        self.detail = detail


class StoreFull(StoreFailed):
    """There is no space left for the directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"no space left for {path}: make room, then start again")
        self.path = path


class StoreUnfinished(StoreFailed):
    """The indexes in the directory are being made anew, and that has not come to its end."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"rebuilding {path} was interrupted: rebuild it again")
        self.path = path


class GenesisDiffers(StoreFailed):
    """The chain in the directory began otherwise."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} holds a chain with another genesis: give that one, or choose another directory"
        )
        self.path = path


class WrongParent(StoreFailed):
    """A record does not continue the chain."""

    def __init__(self, number: int, head: int | None) -> None:
        after = "an empty store" if head is None else f"block {head}"
        super().__init__(f"block {number} does not follow {after}")
        self.number = number
        self.head = head


class ListenFailed(EntresolError):
    """The server cannot listen where it should."""


class AddressInUse(ListenFailed):
    """Somebody else listens on the port."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"port {port} of {host} is in use: stop what uses it, or choose another with --port"
        )
        self.host = host
        self.port = port


class AddressUnavailable(ListenFailed):
    """This machine has no such address."""

    def __init__(self, host: str, problem: str) -> None:
        super().__init__(
            f"cannot listen on {host} ({problem}): give an address of this machine with --host"
        )
        self.host = host
        self.problem = problem


class AddressForbidden(ListenFailed):
    """The system does not let this user listen on the port."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"not allowed to listen on port {port} of {host}: choose one above 1023 with --port"
        )
        self.host = host
        self.port = port
