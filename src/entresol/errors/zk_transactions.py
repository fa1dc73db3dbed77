"""Errors of transactions of type 0x71 and of messages to L1."""

from __future__ import annotations

from typing import Final

from entresol.errors.transactions import InsufficientFunds, InvalidTransaction


class NotEnoughBalanceForFeeValue(InsufficientFunds):
    """The balance of the payer does not cover fee and value; the wording is zksync-era's."""

    def __init__(self, balance: int, fee: int, value: int) -> None:
        InvalidTransaction.__init__(
            self,
            f"insufficient funds for gas + value. balance: {balance:d}, fee: {fee:d}, value: {value:d}",
        )
        self.balance = balance
        self.cost = fee + value


class NoPubdataLimit(InvalidTransaction):
    """The gas per pubdata limit is zero."""

    def __init__(self) -> None:
        super().__init__("gas per pub data limit is zero")


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


class TooManyMessages(InvalidTransaction):
    """The transaction sends more messages to L1 than a batch can hold."""

    def __init__(self, sent: int, limit: int) -> None:
        super().__init__(
            f"the transaction sends {sent:d} messages to L1, and a batch has {limit:d} at most"
        )
        self.sent = sent
        self.limit = limit
