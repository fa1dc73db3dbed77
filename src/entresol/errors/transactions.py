"""Errors of transactions that cannot be included."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class InvalidTransaction(EntresolError):
    """A transaction that cannot be included as it is."""

    rpc_code = -32000


class MalformedTransaction(InvalidTransaction):
    """The bytes do not encode a transaction."""

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.problem = problem
        self.field = field


class InvalidSignature(InvalidTransaction):
    """The signature of a transaction is invalid; `signer` is whose it is, if that is known."""

    def __init__(self, problem: str, signer: bytes | None = None) -> None:
        super().__init__(f"invalid signature: {problem}")
        self.signer = signer


class WrongSender(InvalidSignature):
    """A stored transaction was sent by another account than its record says."""

    def __init__(self, signer: bytes, sender: bytes) -> None:
        super().__init__(f"it is sent by 0x{signer.hex()}, not by 0x{sender.hex()}", signer)
        self.sender = sender


class UnsignedTransaction(InvalidTransaction):
    """Nobody has signed a transaction, and the chain is not a development chain."""

    def __init__(self) -> None:
        super().__init__("it is not signed, which only a development chain accepts")


class UnsupportedType(InvalidTransaction):
    """The chain does not accept transactions of this type."""

    def __init__(self, transaction_type: int) -> None:
        super().__init__(f"transaction type not supported: {transaction_type:#x}")
        self.transaction_type = transaction_type


class SystemSender(InvalidTransaction):
    """Only the node itself sends from this address."""

    def __init__(self, sender: bytes) -> None:
        super().__init__(f"only the node itself sends from 0x{sender.hex()}")
        self.sender = sender


class SystemTransactionFailed(InvalidTransaction):
    """A transaction of the node itself cannot be executed; no block is sealed until it can."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the system transaction that imports roots of L1 fails: {reason}")
        self.reason = reason


class WrongChain(InvalidTransaction):
    """The transaction was signed for another chain id."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"invalid chain id for signer: have {got:d} want {expected:d}")
        self.expected = expected
        self.got = got


class NonceTooLow(InvalidTransaction):
    """The nonce is already used."""

    simulation_code = -38010

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"nonce too low: next nonce {expected:d}, tx nonce {got:d}")
        self.expected = expected
        self.got = got


class NonceTooHigh(InvalidTransaction):
    """An earlier nonce of the sender is missing."""

    simulation_code = -38011

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"nonce too high: next nonce {expected:d}, tx nonce {got:d}")
        self.expected = expected
        self.got = got


class NonceOverflow(InvalidTransaction):
    """The nonce has its maximum value."""

    def __init__(self) -> None:
        super().__init__("nonce has max value")


class InsufficientFunds(InvalidTransaction):
    """The balance of the sender does not cover gas and value."""

    simulation_code = -38014

    def __init__(self, balance: int, cost: int) -> None:
        super().__init__(
            f"insufficient funds for gas * price + value: have {balance:d} want {cost:d}"
        )
        self.balance = balance
        self.cost = cost


class IntrinsicGasTooLow(InvalidTransaction):
    """The gas limit is below the intrinsic gas."""

    simulation_code = -38013

    def __init__(self, gas_limit: int, needed: int) -> None:
        super().__init__(f"intrinsic gas too low: gas {gas_limit:d}, minimum needed {needed:d}")
        self.gas_limit = gas_limit
        self.needed = needed


class GasLimitExceeded(InvalidTransaction):
    """The gas limit exceeds that of a block."""

    simulation_code = -38015

    def __init__(self, gas_limit: int, cap: int) -> None:
        super().__init__(f"exceeds block gas limit: gas {gas_limit:d}, maximum {cap:d}")
        self.gas_limit = gas_limit
        self.cap = cap


class TransactionGasTooHigh(InvalidTransaction):
    """The gas limit exceeds that of a transaction (EIP-7825)."""

    simulation_code = -38015

    def __init__(self, gas_limit: int, cap: int) -> None:
        super().__init__(f"transaction gas limit too high (cap: {cap:d}, tx: {gas_limit:d})")
        self.gas_limit = gas_limit
        self.cap = cap


class FeeCapTooLow(InvalidTransaction):
    """The fee cap is below the base fee."""

    simulation_code = -38012

    def __init__(self, fee_cap: int, base_fee: int) -> None:
        super().__init__(
            f"max fee per gas less than block base fee: maxFeePerGas {fee_cap:d}, baseFee {base_fee:d}"
        )
        self.fee_cap = fee_cap
        self.base_fee = base_fee


class TipAboveFeeCap(InvalidTransaction):
    """The tip is above the fee cap."""

    def __init__(self, tip: int, fee_cap: int) -> None:
        super().__init__(
            f"max priority fee per gas higher than max fee per gas: "
            f"maxPriorityFeePerGas {tip:d}, maxFeePerGas {fee_cap:d}"
        )
        self.tip = tip
        self.fee_cap = fee_cap


class SenderNotEOA(InvalidTransaction):
    """The sender has code other than a delegation."""

    simulation_code = -38024

    def __init__(self) -> None:
        super().__init__("sender not an eoa")


class InitCodeTooLarge(InvalidTransaction):
    """The init code exceeds its limit."""

    simulation_code = -38025

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"max initcode size exceeded: code size {size:d}, limit {limit:d}")
        self.size = size
        self.limit = limit


class EmptyAuthorizations(InvalidTransaction):
    """A set-code transaction without authorizations."""

    def __init__(self) -> None:
        super().__init__("set code transaction with empty auth list")


class NoBlobs(InvalidTransaction):
    """A blob transaction that names no blobs."""

    def __init__(self) -> None:
        super().__init__("blob transaction missing blob hashes")


class TooManyBlobs(InvalidTransaction):
    """The transaction names more blobs than one may have."""

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(f"too many blobs in transaction: have {count:d}, permitted {limit:d}")
        self.count = count
        self.limit = limit


class BlobFeeCapTooLow(InvalidTransaction):
    """The blob fee cap is below the base fee of blob gas."""

    def __init__(self, fee_cap: int, base_fee: int) -> None:
        super().__init__(
            "max fee per blob gas less than block blob gas fee: "
            f"maxFeePerBlobGas {fee_cap:d}, blobBaseFee {base_fee:d}"
        )
        self.fee_cap = fee_cap
        self.base_fee = base_fee


class MissingSidecar(InvalidTransaction):
    """A blob transaction that was sent without its blobs."""

    def __init__(self) -> None:
        super().__init__(
            "missing sidecar in blob transaction: send it with blobs, commitments and proofs"
        )


class InvalidSidecar(InvalidTransaction):
    """The blobs are not those that the transaction names, or a proof does not hold."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"invalid blob sidecar: {problem}")
        self.problem = problem


class TransactionTooLarge(InvalidTransaction):
    """The transaction exceeds the size limit."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"oversized data: transaction size {size:d}, limit {limit:d}")
        self.size = size
        self.limit = limit


class TransactionTooLargeToPublish(TransactionTooLarge):
    """The transaction is larger than what a batch of the chain can publish on L1."""

    def __init__(self, size: int, limit: int) -> None:
        super(TransactionTooLarge, self).__init__(
            f"oversized data: transaction size {size:d}, limit {limit:d}, because the chain publishes its transactions "
            "on L1, and no batch has room for more"
        )
        self.size = size
        self.limit = limit
