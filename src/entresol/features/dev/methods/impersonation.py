"""Sending without a key: impersonation, and transactions without a signature."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from entresol.errors import (
    AccountsLocked,
    ExecutionFailed,
    InvalidTransaction,
    PoolRejection,
    UnknownAccount,
)
from entresol.offload import started
from entresol.primitives.transactions import impersonate
from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.method import Order, method
from entresol.rpc.types.call_request import TransactionObject

if TYPE_CHECKING:
    from entresol.chain.keyring import Keyring
    from entresol.rpc.services.fill_transaction import TransactionFiller
    from entresol.sequencer.submission import Submission


class DeveloperImpersonation:
    """Impersonation as anvil and Hardhat have it."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    @method(AccountsLocked)
    def impersonate_account(self, address: Address) -> None:
        """Let `eth_sendTransaction` send from an account without its key."""
        self._keyring.impersonate(address)

    @method(AccountsLocked)
    def auto_impersonate_account(self, enabled: bool) -> None:
        """Enable or disable `eth_sendTransaction` from any account without its key."""
        self._keyring.impersonate_all(enabled=enabled)


class AnvilImpersonation(DeveloperImpersonation):
    """Impersonation, with the results of anvil."""

    prefix = "anvil"

    @method()
    def stop_impersonating_account(self, address: Address) -> None:
        """Stop impersonating an account."""
        self._keyring.stop_impersonating(address)


class HardhatImpersonation(DeveloperImpersonation):
    """Impersonation, with the results of Hardhat."""

    prefix = "hardhat"
    acknowledges = True

    @method()
    def stop_impersonating_account(self, address: Address) -> bool:
        """Stop impersonating an account, and return whether it was impersonated."""
        return self._keyring.stop_impersonating(address)


class EthUnsigned:
    """Transactions that nobody signs; a namespace of development nodes, as it is impersonation."""

    prefix = "eth"

    def __init__(self, submission: Submission, keyring: Keyring, filler: TransactionFiller) -> None:
        self._submission = submission
        self._keyring = keyring
        self._filler = filler

    @method(
        *(UnknownAccount, AccountsLocked, InvalidTransaction, PoolRejection, ExecutionFailed),
        order=Order.GROUPED,
    )
    def send_unsigned_transaction(
        self, transaction: TransactionObject
    ) -> Hash32 | Awaitable[Hash32]:
        """Fill in and submit a transaction of any account without a signature; return its hash."""
        if self._keyring.locked is not None:
            raise AccountsLocked(self._keyring.locked)
        sender = transaction.from_ or self._keyring.sender(None)
        return started(self._send(transaction, sender))

    async def _send(self, transaction: TransactionObject, sender: Address) -> Hash32:
        async with self._submission.turn(sender):
            payload, sidecar = await self._filler.fill(transaction, sender, is_sent=True)
            unsigned = impersonate(payload, sender, sidecar)
            response = await self._submission.send(unsigned)
        return await response
