"""Errors of transactions that cannot be included, and rejections by the mempool."""

from __future__ import annotations

from entresol.errors.base import EntresolError


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


class PoolRejection(EntresolError):
    """The pool has no place for a transaction that is valid."""


class AlreadyKnown(PoolRejection):
    """The transaction is in the pool."""

    def __init__(self) -> None:
        super().__init__("already known")


class ReplacementUnderpriced(PoolRejection):
    """The transaction offers too little more than the one with the same nonce."""

    def __init__(self, fee_cap: int, tip: int) -> None:
        super().__init__(
            f"replacement transaction underpriced: "
            f"maxFeePerGas {fee_cap:d} and maxPriorityFeePerGas {tip:d} needed"
        )
        self.fee_cap = fee_cap
        self.tip = tip


class SenderLimitExceeded(PoolRejection):
    """The sender has as many transactions in the pool as one may have."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"account limit exceeded: {limit} transactions")
        self.limit = limit


class PoolFull(PoolRejection):
    """The pool is full of transactions that are worth as much."""

    def __init__(self) -> None:
        super().__init__("txpool is full")
