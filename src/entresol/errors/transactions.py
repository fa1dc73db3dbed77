"""Errors of transactions that cannot be included, of type 0x71 too, and what the mempool rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

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


class SystemTransactionFailed(InvalidTransaction):
    """A transaction of the node itself cannot be executed; no block is sealed until it can."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the system transaction that imports roots of L1 fails: {reason}")
        self.reason = reason


_RULES: Final = {
    "unsigned": (0, "it is not signed, which only a development chain accepts"),
    "type": (0, "transaction type not supported: {:#x}"),
    "system sender": (0, "only the node itself sends from {}"),
    "chain id": (0, "invalid chain id for signer: have {1:d} want {0:d}"),
    "nonce too high": (-38011, "nonce too high: next nonce {:d}, tx nonce {:d}"),
    "nonce overflow": (0, "nonce has max value"),
    "above block gas limit": (-38015, "exceeds block gas limit: gas {:d}, maximum {:d}"),
    "above transaction gas limit": (
        -38015,
        "transaction gas limit too high (cap: {1:d}, tx: {0:d})",
    ),
    "fee cap below base fee": (
        -38012,
        "max fee per gas less than block base fee: maxFeePerGas {:d}, baseFee {:d}",
    ),
    "tip above fee cap": (
        0,
        "max priority fee per gas higher than max fee per gas: maxPriorityFeePerGas {:d}, maxFeePerGas {:d}",
    ),
    "sender with code": (-38024, "sender not an eoa"),
    "init code too large": (-38025, "max initcode size exceeded: code size {:d}, limit {:d}"),
    "no authorizations": (0, "set code transaction with empty auth list"),
    "no blobs": (0, "blob transaction missing blob hashes"),
    "too many blobs": (0, "too many blobs in transaction: have {:d}, permitted {:d}"),
    "blob fee cap below base fee": (
        0,
        "max fee per blob gas less than block blob gas fee: maxFeePerBlobGas {:d}, blobBaseFee {:d}",
    ),
    "no sidecar": (
        0,
        "missing sidecar in blob transaction: send it with blobs, commitments and proofs",
    ),
    "too large": (0, "oversized data: transaction size {:d}, limit {:d}"),
    "too large to publish": (
        0,
        (
            "oversized data: transaction size {:d}, limit {:d}, because the chain publishes its transactions "
            "on L1, and no batch has room for more"
        ),
    ),
    "paymaster": (
        0,
        "failed paymaster validation: paymasters are not supported, and {} is named as one; the sender has to pay",
    ),
    "too many factory dependencies": (
        0,
        "too many factory dependencies in the transaction. {:d} provided, while only {:d} allowed",
    ),
}
"""The code of `eth_simulateV1` and the text of each kind."""


class TransactionRuleBroken(InvalidTransaction):
    """A transaction breaks a rule of the chain: Python or the crate says which, and the figures of its text."""

    SIMULATION_CODES: ClassVar = {kind: code for kind, (code, _) in _RULES.items() if code}
    """The codes by kind, of the kinds that have one."""

    def __init__(self, kind: str, *figures: int | bytes) -> None:
        self.simulation_code, text = _RULES[kind]
        shown = (f"0x{each.hex()}" if isinstance(each, bytes) else each for each in figures)
        super().__init__(text.format(*shown))
        self.kind = kind


class NonceTooLow(InvalidTransaction):
    """The nonce is already used."""

    simulation_code = -38010

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"nonce too low: next nonce {expected:d}, tx nonce {got:d}")
        self.expected = expected
        self.got = got


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


class InvalidSidecar(InvalidTransaction):
    """The blobs are not those that the transaction names, or a proof does not hold."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"invalid blob sidecar: {problem}")
        self.problem = problem


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
    """The bytes do not encode a transaction of type 0x71; the crate says what is wrong, where, and its figures."""

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
    "paymaster": ("Paymaster validation error: ", "failed paymaster validation. error message: "),
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


class PoolRejection(EntresolError):
    """The pool rejects a valid transaction."""

    rpc_code = -32000


class AlreadyKnown(PoolRejection):
    """The transaction is already in the pool."""

    def __init__(self) -> None:
        super().__init__("already known")


class ValidationsThrottled(PoolRejection):
    """Validations have failed too often lately: those of an address, or all of them."""

    def __init__(self, address: bytes | None) -> None:
        of = "of accounts" if address is None else f"that involve 0x{address.hex()}"
        super().__init__(f"validations {of} have failed too often lately: try again later")
        self.address = address


class NotEvmCode(InvalidTransaction):
    """The code of a call or a transaction is for another machine than the EVM, in the end or on the way."""

    def __init__(self, address: bytes) -> None:
        super().__init__(
            f"0x{address.hex()} has EraVM code, which is not executed here: its balance and storage can be read"
        )
        self.address = address
