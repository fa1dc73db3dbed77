"""Errors of transactions of type 0x71 and of messages to L1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors.transactions import (
    InsufficientFunds,
    InvalidSignature,
    InvalidTransaction,
    MalformedTransaction,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

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
