"""Errors of transactions that cannot be included, of type 0x71 too, and what the mempool rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors.base import EntresolError

if TYPE_CHECKING:
    from collections.abc import Sequence


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


_FIELDS: Final = [
    "nonce",
    "maxPriorityFeePerGas",
    "maxFeePerGas",
    "gasLimit",
    "to",
    "value",
    "data",
    "v",
    "r",
    "s",
    "chainId",
    "from",
    "gasPerPubdata",
    "factoryDeps",
    "customSignature",
    "paymasterParams",
]
_ITEMS: Final = {"paymasterParams": (".paymaster", ".paymasterInput")}

_FAULTS: Final = {
    "no list": "a transaction of type 0x71 is an rlp list",
    # Clients of the network match on the first words.
    "field count": "decodeRlpError RlpIncorrectListLen: a transaction of type 0x71 has 16 items, got {}",
    "list": "a byte string is expected, got a list",
    "bytes": "a list is expected, got a byte string",
    "leading zero": "integer has a leading zero byte",
    "too long": "integer is at most {} bytes, got {}",
    "address size": "an address is 20 bytes, got {}",
    "no target": "toAddressIsNull: a transaction of type 0x71 cannot go without one",
    "item count": "{} items expected, got {}",
    "dependency": "factory dependency #{} is invalid: {}",
}


class MalformedZkTransaction(MalformedTransaction):
    """The bytes do not encode a transaction of type 0x71.

    The crate says which kind of fault, in which field and which item of it, and its figures.
    """

    def __init__(
        self,
        kind: str,
        field: int | None = None,
        item: int | None = None,
        figures: Sequence[object] = (),
    ) -> None:
        super().__init__(_FAULTS[kind].format(*figures), field=_field_name(field, item))


def _field_name(field: int | None, item: int | None) -> str | None:
    if field is None:
        return None
    name = _FIELDS[field]
    if item is None:
        return name
    items = _ITEMS.get(name)
    return f"{name}[{item}]" if items is None else name + items[item]


_SIGNATURE_FAULTS: Final = {
    "unsigned": "the transaction is not signed",
    "size": "a signature is 65 bytes, got {}",
    "v": "v of a custom signature is 27 or 28, got {}",
    "plain v": "v is 0, 1, 27 or 28, got {}",
    "signer": "signed by {signer}, sent from {}",
}


class InvalidZkSignature(InvalidSignature):
    """The key of its sender has not signed a transaction of type 0x71; a contract account may still accept it."""

    def __init__(
        self, kind: str, found: int | bytes | None = None, signer: bytes | None = None
    ) -> None:
        value = f"0x{found.hex()}" if isinstance(found, bytes) else found
        by = None if signer is None else f"0x{signer.hex()}"
        super().__init__(_SIGNATURE_FAULTS[kind].format(value, signer=by), signer)


class NotEnoughBalanceForFeeValue(InsufficientFunds):
    """The balance of the payer does not cover fee and value; the wording is zksync-era's."""

    def __init__(self, balance: int, fee: int, value: int) -> None:
        InvalidTransaction.__init__(
            self,
            f"insufficient funds for gas + value. balance: {balance:d}, fee: {fee:d}, value: {value:d}",
        )
        self.balance = balance
        self.cost = fee + value


class PaymasterNotSupported(InvalidTransaction):
    """The transaction names a paymaster."""

    def __init__(self, paymaster: bytes) -> None:
        super().__init__(
            f"failed paymaster validation: paymasters are not supported, and 0x{paymaster.hex()} "
            "is named as one; the sender has to pay"
        )
        self.paymaster = paymaster


_REVERT: Final = "Validation revert: "
_STEPS: Final = {
    "form": ("", ""),
    "sender": ("Sender is not an account: ", ""),
    "validation": ("Account validation error: ", "failed to validate the transaction. reason: "),
    "payment": (
        "Failed to pay for the transaction: ",
        "not enough balance to cover the fee. error message: ",
    ),
    "preparation": (
        "Pre-paymaster preparation error: ",
        "failed pre-paymaster preparation. error message: ",
    ),
    "paymaster": (
        "Paymaster validation error: ",
        "failed paymaster validation. error message: ",
    ),
    "charge": ("Failed to charge fee: ", "not enough balance to cover the fee. error message: "),
}
"""The texts of the network before the reason, by step: of a transaction, and of an estimate."""


class AccountRejection(InvalidTransaction):
    """An account or a paymaster does not agree to the transaction, or cannot.

    `step` is where, `party` who has let it fail, `"sender"` or `"paymaster"`, and `gas` what its calls have used, for
    which nobody pays; it is 0 if that was not counted.
    """

    def __init__(self, step: str, reason: str, party: str | None = None, gas: int = 0) -> None:
        prefix = "Violated validation rules: " if step == "rules" else _REVERT + _STEPS[step][0]
        super().__init__(f"failed to validate the transaction. reason: {prefix}{reason}")
        self.step = step
        self.reason = reason
        self.party = party or ("paymaster" if step in ("paymaster", "charge") else "sender")
        self.gas = gas

    @property
    def estimate_text(self) -> str:
        """The text for the sender of an estimate."""
        return f"{_STEPS[self.step][1]}{self.reason}"


class EstimateRejection(InvalidTransaction):
    """No gas limit lets an account or a paymaster agree to what is estimated."""

    def __init__(self, rejection: AccountRejection) -> None:
        super().__init__(rejection.estimate_text)


class TooManyFactoryDeps(InvalidTransaction):
    """The transaction has more factory dependencies than allowed."""

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(
            "too many factory dependencies in the transaction. "
            f"{count} provided, while only {limit} allowed"
        )
        self.count = count
        self.limit = limit


class PoolRejection(EntresolError):
    """The pool rejects a valid transaction."""

    rpc_code = -32000


class AlreadyKnown(PoolRejection):
    """The transaction is already in the pool."""

    def __init__(self) -> None:
        super().__init__("already known")


class PublicationBehind(PoolRejection):
    """L1 is too far behind with what the chain publishes, so no new transaction is accepted."""

    def __init__(self, batches: int, resume: int, problem: str | None) -> None:
        reason = "" if problem is None else f" ({problem})"
        super().__init__(
            f"L1 is behind: {batches} batches of this chain wait for their commit{reason}. New transactions are accepted "
            f"again when there are fewer than {resume}; send this one then, or by a deposit"
        )
        self.batches = batches


class ValidationsThrottled(PoolRejection):
    """Validations have failed too often lately: those of an address, or all of them."""

    def __init__(self, address: bytes | None) -> None:
        of = "of accounts" if address is None else f"that involve 0x{address.hex()}"
        super().__init__(f"validations {of} have failed too often lately: try again later")
        self.address = address
