"""What paymasters have to pay for the transactions in a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import InsufficientFunds, PaymasterLimitExceeded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions
    from entresol.execution.account_senders import AccountReader
    from entresol.primitives.values import Address

PAYMASTER_LIMIT: Final = 64
"""How many pending transactions a paymaster may pay for."""


class PaymasterDebts:
    """What paymasters have to pay for pending transactions at most, so that no ether is promised twice.

    What waits for a nonce counts for nobody: it need never leave, and would keep out all others.
    """

    def __init__(self, senders: Iterable[SenderTransactions] = ()) -> None:
        self._debts: dict[Address, tuple[int, int]] = {}
        self._counted: dict[Address, list[PooledTransaction]] = {}
        for sender_txs in senders:
            self.update(sender_txs)

    def update(self, sender_txs: SenderTransactions) -> None:
        """Count a sender's transactions anew, after they have changed."""
        if not sender_txs.sponsored and sender_txs.sender not in self._counted:
            return
        for entry in self._counted.pop(sender_txs.sender, ()):
            self._count(entry, -1)
        pending = [it for it in sender_txs.sponsored.values() if it.nonce < sender_txs.gap]
        for entry in pending:
            self._count(entry, 1)
        if pending:
            self._counted[sender_txs.sender] = pending

    def check(
        self, entry: PooledTransaction, sender_txs: SenderTransactions, accounts: AccountReader
    ) -> None:
        """Reject a transaction if its paymaster has too many, or too little ether for all of them."""
        if entry.paymaster is None:
            return
        debt, count = 0, 0
        if entry.nonce <= sender_txs.gap:
            debt, count = self._debts.get(entry.paymaster, (0, 0))
        replaced = sender_txs.entries.get(entry.nonce)
        if count and replaced is not None and replaced.paymaster == entry.paymaster:
            debt, count = debt - replaced.debt, count - 1
        if count >= PAYMASTER_LIMIT:
            raise PaymasterLimitExceeded(PAYMASTER_LIMIT)
        balance = _balance(entry.paymaster, accounts)
        if debt + entry.debt > balance:
            raise InsufficientFunds(balance, debt + entry.debt)

    def are_exceeded(self, paymaster: Address, accounts: AccountReader) -> bool:
        """Return whether a paymaster has too many transactions, or too little ether for them."""
        debt, count = self._debts.get(paymaster, (0, 0))
        return count > PAYMASTER_LIMIT or debt > _balance(paymaster, accounts)

    def _count(self, entry: PooledTransaction, sign: int) -> None:
        assert entry.paymaster is not None
        debt, count = self._debts.get(entry.paymaster, (0, 0))
        if count + sign == 0:
            del self._debts[entry.paymaster]
        else:
            self._debts[entry.paymaster] = debt + sign * entry.debt, count + sign


def _balance(paymaster: Address, accounts: AccountReader) -> int:
    account = accounts.account(paymaster)
    return 0 if account is None else account.balance
