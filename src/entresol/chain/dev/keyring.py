"""The accounts that a node acts for: those whose keys it has, and those it impersonates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol._native import sign as sign_digest
from entresol.errors import AccountsLocked, UnknownAccount
from entresol.primitives.transactions import ZkTransaction, decode, impersonate, sign

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.genesis.accounts import DevAccount
    from entresol.primitives.transactions import SignedPayload, Transaction
    from entresol.primitives.values import Address, Hash32

_FIRST_V = 27


class Keyring:
    """Signs for development accounts, and lets transactions pass as those of others.

    Remembers: the keys, and who is impersonated. Persists: nothing; after a restart nobody is
    impersonated. Fails: with `UnknownAccount` for an account it cannot act for, and with
    `AccountsLocked` for all of them if it was made with a reason for that.
    """

    def __init__(self, accounts: Iterable[DevAccount] = (), *, locked: str | None = None) -> None:
        self._locked = locked
        self._secrets = {} if locked else {it.address: it.secret for it in accounts}
        # A dictionary keeps the order in which they were named.
        self._impersonated: dict[Address, None] = {}
        self._everybody = False

    @property
    def locked(self) -> str | None:
        """Why it acts for nobody, if so."""
        return self._locked

    @property
    def addresses(self) -> list[Address]:
        """The accounts whose keys are here, then those that are impersonated by name."""
        return list(dict.fromkeys((*self._secrets, *self._impersonated)))

    def sender(self, wanted: Address | None) -> Address:
        """Return who sends a transaction, the first account if nobody is named; reject who cannot."""
        if self._locked is not None:
            raise AccountsLocked(self._locked)
        address = next(iter(self._secrets), None) if wanted is None else wanted
        if address is None or not (address in self._secrets or self.impersonates(address)):
            raise UnknownAccount(address)
        return address

    def sign_digest(self, address: Address, digest: Hash32) -> bytes:
        """Return `r ‖ s ‖ v` with `v` 27 or 28, as wallets do."""
        signature = sign_digest(digest, self._secret(address))
        return signature[:64] + bytes([_FIRST_V + signature[64]])

    def sign(self, payload: SignedPayload, sender: Address) -> Transaction:
        """Sign a transaction with the key of its sender."""
        if isinstance(payload, ZkTransaction):
            # The form that clients write: some hash the other one in a way of their own.
            signature = self.sign_digest(sender, payload.signing_hash())
            return decode(msgspec.structs.replace(payload, custom_signature=signature).encode())
        return sign(payload, self._secret(sender))

    def transaction(self, payload: SignedPayload, sender: Address) -> Transaction:
        """Return a transaction of a sender who is impersonated, or else has to sign it."""
        if self.impersonates(sender):
            return impersonate(payload, sender)
        return self.sign(payload, sender)

    # Impersonation

    def impersonates(self, address: Address) -> bool:
        """Say whether transactions of an account need no signature."""
        return self._everybody or address in self._impersonated

    def impersonate(self, address: Address) -> None:
        """Let transactions of an account pass without a signature."""
        if self._locked is not None:
            raise AccountsLocked(self._locked)
        self._impersonated[address] = None

    def stop_impersonating(self, address: Address) -> None:
        """Ask for signatures of an account again."""
        self._impersonated.pop(address, None)

    def impersonate_all(self, *, enabled: bool) -> None:
        """Let all transactions pass without a signature, or only those of accounts that were named."""
        if enabled and self._locked is not None:
            raise AccountsLocked(self._locked)
        self._everybody = enabled

    def _secret(self, address: Address) -> Hash32:
        if self._locked is not None:
            raise AccountsLocked(self._locked)
        secret = self._secrets.get(address)
        if secret is None:
            raise UnknownAccount(address)
        return secret
