"""The rules for admitting transactions of contract accounts and with paymasters, before a pool asks either."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import (
    charges_factory_deps,
    check_parties,
    has_accounts,
    has_code,
    is_contract_account,
    not_an_account,
)
from entresol.chain.mempool.validation import intrinsic_gas
from entresol.errors import (
    AccountRejection,
    InsufficientFunds,
    IntrinsicGasTooLow,
    InvalidSignature,
    PoolRejection,
    StateMissing,
    TransactionRuleBroken,
)
from entresol.execution.account_senders import Culprit, Involved
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.transactions import ZkTransaction
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions
    from entresol.chain.mempool.validation import ValidationRules
    from entresol.execution.evm_env import State
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32


ACCOUNT_LIMIT: Final = 4
"""How many transactions a contract account may have in the pool."""


PAYMASTER_LIMIT: Final = 64
"""How many pending transactions a paymaster may pay for."""

MAX_FAILURES: Final = 3

THROTTLE_BLOCKS: Final = 100
"""After so many failures within so many blocks somebody is rejected, for as many blocks."""

_MAX_FAILING: Final = 4_096


def check_zk_sender(transaction: Transaction, accounts: State, rules: ValidationRules) -> bool:
    """Reject a transaction of type 0x71 by sender and payer; return whether it is a contract account's own."""
    payload = transaction.payload
    if not isinstance(payload, ZkTransaction):
        return False
    paymaster = None if payload.sponsor is None else payload.sponsor.address
    is_impersonated = transaction.is_impersonated
    signature_error = None if is_impersonated else transaction.signature_error
    is_contract = not is_impersonated and has_code(accounts, payload.sender)
    if (paymaster is not None or is_contract) and not has_accounts(accounts):
        raise signature_error or (
            TransactionRuleBroken("sender with code")
            if paymaster is None
            else TransactionRuleBroken("paymaster", paymaster)
        )
    check_parties(None if is_impersonated else payload.sender, paymaster)
    if not is_contract:
        if signature_error is not None:
            raise signature_error
        if payload.factory_deps or payload.paymaster is not None:
            _check_gas(payload, _charged(payload, accounts, rules), rules)
        return False
    if not is_contract_account(accounts, payload.sender):
        raise not_an_account()
    if not payload.signature:
        raise InvalidSignature("the transaction is not signed")
    _check_gas(payload, (payload.signature, *_charged(payload, accounts, rules)), rules)
    return True


def _charged(payload: ZkTransaction, accounts: State, rules: ValidationRules) -> tuple[bytes, ...]:
    """Return what the chain charges for: all that is published, or factory dependencies if its genesis says so."""
    if rules.charges_published:
        given = payload.paymaster
        # What a paymaster reads is charged for as data.
        unread = () if given is None or given.pays else (given.input,)
        return *payload.factory_deps, *unread
    return payload.factory_deps if charges_factory_deps(accounts) else ()


def _check_gas(payload: ZkTransaction, also: tuple[bytes, ...], rules: ValidationRules) -> None:
    needed = intrinsic_gas(payload, rules.schedule, also)
    if payload.gas_limit < needed:
        raise IntrinsicGasTooLow(payload.gas_limit, needed)


def check_account_limit(sender_txs: SenderTransactions, replaced: PooledTransaction | None) -> None:
    """Reject the transaction of a contract account that has too many."""
    if sender_txs.is_account and replaced is None and len(sender_txs.nonces) >= ACCOUNT_LIMIT:
        raise PoolRejection(f"account limit exceeded: {ACCOUNT_LIMIT} transactions")


class PaymasterDebts:
    """The most that paymasters have to pay for pending transactions, so that no ether is promised twice.

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
        pending = [entry for entry in sender_txs.sponsored.values() if entry.nonce < sender_txs.gap]
        for entry in pending:
            self._count(entry, 1)
        if pending:
            self._counted[sender_txs.sender] = pending

    def check(
        self, entry: PooledTransaction, sender_txs: SenderTransactions, accounts: State
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
            raise PoolRejection(f"paymaster limit exceeded: {PAYMASTER_LIMIT} transactions")
        balance = _balance(entry.paymaster, accounts)
        if debt + entry.debt > balance:
            raise InsufficientFunds(balance, debt + entry.debt)

    def are_exceeded(self, paymaster: Address, accounts: State) -> bool:
        """Return whether a paymaster has too many transactions, or too little ether for them."""
        debt, count = self._debts.get(paymaster, (0, 0))
        if count > PAYMASTER_LIMIT:
            return True
        try:
            return debt > _balance(paymaster, accounts)
        except StateMissing:
            # It was checked when it was added. A fork that has forgotten it since must not stop here, half done.
            return False

    def _count(self, entry: PooledTransaction, sign: int) -> None:
        assert entry.paymaster is not None
        debt, count = self._debts.get(entry.paymaster, (0, 0))
        if count + sign == 0:
            del self._debts[entry.paymaster]
        else:
            self._debts[entry.paymaster] = debt + sign * entry.debt, count + sign


def _balance(paymaster: Address, accounts: State) -> int:
    account = accounts.account(paymaster)
    return 0 if account is None else account.balance


class _Failure(NamedTuple):
    """When a transaction was rejected by a block."""

    block: int
    hash: Hash32


class Penalties:
    """Rejects who lets transactions fail again and again when blocks are built, since nobody pays for that.

    A transaction that is sent again and fails again counts once for those who are to blame: anybody can send it. It is
    rejected itself then. A sender that has paid for a transaction, and let none fail since, is not rejected with a
    paymaster that others have failed with. `block` is the number of the head.
    """

    def __init__(self) -> None:
        self.block = 0
        self._failures: BoundedMap[Culprit, tuple[_Failure, ...]] = BoundedMap(_MAX_FAILING)
        self._until: BoundedMap[Culprit, int] = BoundedMap(_MAX_FAILING)
        self._rejected: BoundedMap[Hash32, tuple[int, ...]] = BoundedMap(_MAX_FAILING)
        self._paid: BoundedMap[Address, bool] = BoundedMap(_MAX_FAILING)

    def __len__(self) -> int:
        """Return how many have failed."""
        return max(len(self._failures), len(self._until), len(self._rejected))

    @property
    def known(self) -> int:
        """How many have failed, or have paid since."""
        return len(self) + len(self._paid)

    def copy(self) -> Penalties | None:
        """Return the same penalties, which what comes later does not change; None if nobody has failed or paid."""
        if not self.known:
            return None
        copied = Penalties()
        copied._failures = self._failures.copy()
        copied._until = self._until.copy()
        copied._rejected = self._rejected.copy()
        copied._paid = self._paid.copy()
        return copied

    def clear(self) -> None:
        """Forget all failures, and who has paid."""
        for known in (self._failures, self._until, self._rejected, self._paid):
            known.clear()

    def paid(self, sender: Address) -> None:
        """Record that a block has a transaction of a sender, for which somebody has paid."""
        self._paid.put(sender, True)  # noqa: FBT003  # the value of a map

    def has_paid(self, sender: Address) -> bool:
        """Return whether a sender has a transaction in a block, and has let none fail since; any thread may ask."""
        return self._paid.get(sender) is not None

    def record(self, transaction: Transaction, error: Exception) -> None:
        """Count a failure for the accounts that caused it."""
        payload = transaction.payload
        if not isinstance(error, AccountRejection) or not isinstance(payload, ZkTransaction):
            return
        times = self._recent(self._rejected.get(transaction.hash) or ())
        self._rejected.put(transaction.hash, (*times, self.block)[-MAX_FAILURES:])
        self._paid.pop(payload.sender)
        for culprit in Involved.of(payload).responsible(error):
            self._record(culprit, transaction.hash)

    def check(self, transaction: Transaction) -> None:
        """Reject a transaction that has failed too often, or of somebody who has."""
        payload = transaction.payload
        if not len(self) or not isinstance(payload, ZkTransaction):
            return
        times = self._recent(self._rejected.get(transaction.hash) or ())
        if len(times) >= MAX_FAILURES:
            raise PoolRejection(
                "blocks have rejected this transaction again and again: it is rejected until block "
                f"{times[0] + THROTTLE_BLOCKS}"
            )
        self.check_involved(Involved.of(payload))

    def check_involved(self, involved: Involved) -> None:
        """Reject what involves somebody who has failed too often."""
        self._check((involved.sender,))
        if involved.payer is not None and not self.has_paid(involved.sender):
            self._check(involved.payer)

    def _check(self, culprit: Culprit) -> None:
        until = self._until.get(culprit)
        if until is not None and self.block < until:
            raise PoolRejection(
                f"0x{culprit[0].hex()} has let transactions fail that it had agreed to, and is rejected until "
                f"block {until}"
            )

    def _record(self, culprit: Culprit, transaction_hash: Hash32) -> None:
        known = self._failures.get(culprit) or ()
        recent = [failure for failure in known if failure.block > self.block - THROTTLE_BLOCKS]
        if any(failure.hash == transaction_hash for failure in recent):
            return
        failures = (*recent, _Failure(self.block, transaction_hash))
        self._failures.put(culprit, failures[-MAX_FAILURES:])
        if len(failures) >= MAX_FAILURES:
            self._until.put(culprit, self.block + THROTTLE_BLOCKS)

    def _recent(self, blocks: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(block for block in blocks if block > self.block - THROTTLE_BLOCKS)
