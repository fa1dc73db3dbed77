"""Limits on transactions that a contract account sends or a paymaster pays for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.chain.mempool.intrinsic_gas import intrinsic_gas
from entresol.errors import (
    AccountRejection,
    InsufficientFunds,
    IntrinsicGasTooLow,
    InvalidSignature,
    PaymasterLimitExceeded,
    PaymasterNotSupported,
    SenderLimitExceeded,
    SenderNotEOA,
    Throttled,
)
from entresol.execution.account_senders import (
    SenderKind,
    check_addresses,
    has_accounts,
    has_code,
    not_an_account,
    sender_kind,
)
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.transactions import ZkTransaction
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions
    from entresol.chain.mempool.validation import ValidationRules
    from entresol.execution.account_senders import AccountReader
    from entresol.primitives.transactions import Transaction

ACCOUNT_LIMIT: Final = 4
"""How many transactions a contract account may have in the pool."""
PAYMASTER_LIMIT: Final = 64
"""How many transactions a paymaster may pay for in the pool."""
MAX_FAILURES: Final = 3
THROTTLE_BLOCKS: Final = 100
"""After so many failures within so many blocks an address is rejected, for as many blocks."""
_MAX_KNOWN: Final = 4_096


def check_zk_sender(
    transaction: Transaction, accounts: AccountReader, rules: ValidationRules
) -> bool:
    """Reject a transaction by its sender and its payer; return whether it is a contract account's own.

    One of any other type than 0x71 passes.
    """
    payload = transaction.payload
    if not isinstance(payload, ZkTransaction):
        return False
    paymaster = payload.payer if payload.payer != payload.sender else None
    is_impersonated = transaction.is_impersonated
    signature_error = None if is_impersonated else transaction.signature_error
    is_contract = not is_impersonated and has_code(accounts, payload.sender)
    if (paymaster is not None or is_contract) and not has_accounts(accounts):
        raise signature_error or (
            SenderNotEOA() if paymaster is None else PaymasterNotSupported(paymaster)
        )
    check_addresses(_ANY if is_impersonated else payload.sender, paymaster)
    if not is_contract:
        if signature_error is not None:
            raise signature_error
        return False
    if sender_kind(accounts, payload.sender) is not SenderKind.CONTRACT:
        raise not_an_account()
    if not payload.signature:
        raise InvalidSignature("the transaction is not signed")
    needed = intrinsic_gas(payload, rules.schedule, payload.signature)
    if payload.gas_limit < needed:
        raise IntrinsicGasTooLow(payload.gas_limit, needed)
    return True


_ANY: Final = Address(b"\xff" * 20)


def check_account_limit(sender_txs: SenderTransactions, replaced: PooledTransaction | None) -> None:
    """Reject the transaction of a contract account that has too many."""
    if sender_txs.is_account and replaced is None and len(sender_txs.nonces) >= ACCOUNT_LIMIT:
        raise SenderLimitExceeded(ACCOUNT_LIMIT)


class PaymasterDebts:
    """What paymasters have to pay for the transactions in the pool at most, so that no ether is promised twice."""

    def __init__(self, entries: Iterable[PooledTransaction] = ()) -> None:
        self._debts: dict[Address, tuple[int, int]] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: PooledTransaction) -> None:
        """Count a transaction that enters the pool."""
        self._count(entry, 1)

    def remove(self, entry: PooledTransaction) -> None:
        """Count a transaction that leaves the pool."""
        self._count(entry, -1)

    def check(
        self,
        entry: PooledTransaction,
        replaced: PooledTransaction | None,
        accounts: AccountReader,
    ) -> None:
        """Reject a transaction if its paymaster has too many, or too little ether for all of them."""
        if entry.paymaster is None:
            return
        debt, count = self._debts.get(entry.paymaster, (0, 0))
        if replaced is not None and replaced.paymaster == entry.paymaster:
            debt, count = debt - replaced.debt, count - 1
        if count >= PAYMASTER_LIMIT:
            raise PaymasterLimitExceeded(PAYMASTER_LIMIT)
        account = accounts.account(entry.paymaster)
        balance = 0 if account is None else account.balance
        if debt + entry.debt > balance:
            raise InsufficientFunds(balance, debt + entry.debt)

    def _count(self, entry: PooledTransaction, sign: int) -> None:
        if entry.paymaster is None:
            return
        debt, count = self._debts.get(entry.paymaster, (0, 0))
        if count + sign == 0:
            del self._debts[entry.paymaster]
        else:
            self._debts[entry.paymaster] = debt + sign * entry.debt, count + sign


class Penalties:
    """Rejects addresses whose transactions fail again and again when blocks are built.

    Each of them costs a validation that nobody pays for. `block` is the number of the head.
    """

    def __init__(self) -> None:
        self.block = 0
        self._failures: BoundedMap[Address, tuple[int, ...]] = BoundedMap(_MAX_KNOWN)
        self._until: BoundedMap[Address, int] = BoundedMap(_MAX_KNOWN)

    def __len__(self) -> int:
        """Return how many addresses have failed."""
        return max(len(self._failures), len(self._until))

    def copy(self) -> Penalties | None:
        """Return the same penalties, which later failures do not change; None if no address has failed."""
        if not len(self):
            return None
        copied = Penalties()
        copied._failures = self._failures.copy()
        copied._until = self._until.copy()
        return copied

    def clear(self) -> None:
        """Forget all failures."""
        self._failures.clear()
        self._until.clear()

    def record(self, transaction: Transaction, error: Exception) -> None:
        """Count a failure for the account that caused it: the paymaster, or the sender."""
        payload = transaction.payload
        if not isinstance(error, AccountRejection) or not isinstance(payload, ZkTransaction):
            return
        address = payload.payer if error.step in ("paymaster", "charge") else payload.sender
        recent = (
            it for it in self._failures.get(address) or () if it > self.block - THROTTLE_BLOCKS
        )
        failures = (*recent, self.block)
        self._failures.put(address, failures[-MAX_FAILURES:])
        if len(failures) >= MAX_FAILURES:
            self._until.put(address, self.block + THROTTLE_BLOCKS)

    def check(self, transaction: Transaction) -> None:
        """Reject a transaction of an address that has failed too often."""
        payload = transaction.payload
        if not len(self._until) or not isinstance(payload, ZkTransaction):
            return
        self.check_addresses({payload.sender, payload.payer})

    def check_addresses(self, addresses: Iterable[Address | None]) -> None:
        """Reject what involves an address that has failed too often."""
        for address in addresses:
            until = None if address is None else self._until.get(address)
            if address is not None and until is not None and self.block < until:
                raise Throttled(address, until)
