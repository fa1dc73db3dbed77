"""Accounts that the node signs for or impersonates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol._native import sign as sign_digest
from entresol.errors import AccountsLocked, UnknownAccount
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.transactions import ZkTransaction, decode, impersonate, sign

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol._native import BlobSidecar
    from entresol.chain.genesis.accounts import DevAccount
    from entresol.primitives.transactions import SignedPayload, Transaction
    from entresol.primitives.values import Address, Hash32

MAX_IMPERSONATED: Final = 10_000
"""How many accounts are impersonated by address; the first ones are dropped."""

_FIRST_V = 27


class Impersonation(NamedTuple):
    """The accounts that are impersonated: those named, or all."""

    addresses: tuple[Address, ...]
    all: bool


class Keyring:
    """Signs for development accounts, and sends transactions of impersonated ones.

    Fails: with `UnknownAccount` for an account that is neither, and with `AccountsLocked` for every account if it is
    locked.
    """

    def __init__(self, accounts: Iterable[DevAccount] = (), *, locked: str | None = None) -> None:
        self._locked = locked
        self._secrets = {} if locked else {account.address: account.secret for account in accounts}
        self._impersonated: BoundedMap[Address, Address] = BoundedMap(MAX_IMPERSONATED)
        self._impersonates_all = False
        # Made when it is read, after each change.
        self._addresses: list[Address] | None = None

    @property
    def locked(self) -> str | None:
        """Why the accounts are locked, or None."""
        return self._locked

    @property
    def addresses(self) -> list[Address]:
        """The accounts with keys, then those that are impersonated by address."""
        if self._addresses is None:
            self._addresses = list(dict.fromkeys((*self._secrets, *self._impersonated)))
        return self._addresses

    def sender(self, wanted: Address | None) -> Address:
        """Return the sender of a transaction, by default the first account; reject one without a key."""
        if self._locked is not None:
            raise AccountsLocked(self._locked)
        address = next(iter(self._secrets), None) if wanted is None else wanted
        if address is None or not (address in self._secrets or self.impersonates(address)):
            raise UnknownAccount(address)
        return address

    def sign_digest(self, address: Address, digest: Hash32) -> bytes:
        """Return the signature `r ‖ s ‖ v` with `v` 27 or 28."""
        signature = sign_digest(digest, self._secret(address))
        return signature[:64] + bytes([_FIRST_V + signature[64]])

    def sign(
        self, payload: SignedPayload, sender: Address, sidecar: BlobSidecar | None = None
    ) -> Transaction:
        """Sign a transaction with the key of its sender."""
        if isinstance(payload, ZkTransaction):
            # As a custom signature, like clients do: some of them hash the other form differently.
            signature = self.sign_digest(sender, payload.signing_hash())
            return decode(msgspec.structs.replace(payload, custom_signature=signature).encode())
        return sign(payload, self._secret(sender), sidecar, sender=sender)

    def transaction(
        self, payload: SignedPayload, sender: Address, sidecar: BlobSidecar | None = None
    ) -> Transaction:
        """Return a transaction of `sender`, impersonated or else signed."""
        if self.impersonates(sender):
            return impersonate(payload, sender, sidecar)
        return self.sign(payload, sender, sidecar)

    # Impersonation

    @property
    def impersonation(self) -> Impersonation:
        """The impersonated accounts; they can be set to what they were before."""
        return Impersonation(tuple(self._impersonated), self._impersonates_all)

    @impersonation.setter
    def impersonation(self, wanted: Impersonation) -> None:
        self._addresses = None
        self._impersonated.clear()
        for address in wanted.addresses:
            self._impersonated.put(address, address)
        self._impersonates_all = wanted.all

    def impersonates(self, address: Address) -> bool:
        """Return whether an account is impersonated."""
        return self._impersonates_all or address in self._impersonated

    def impersonate(self, address: Address) -> None:
        """Accept transactions of an account without a signature."""
        if self._locked is not None:
            raise AccountsLocked(self._locked)
        self._addresses = None
        self._impersonated.put(address, address)

    def stop_impersonating(self, address: Address) -> bool:
        """Require signatures of an account again, and return whether it was impersonated."""
        self._addresses = None
        return self._impersonated.pop(address) is not None

    def impersonate_all(self, *, enabled: bool) -> None:
        """Impersonate every account, or only those added by `impersonate`."""
        if enabled and self._locked is not None:
            raise AccountsLocked(self._locked)
        self._impersonates_all = enabled

    def _secret(self, address: Address) -> Hash32:
        if self._locked is not None:
            raise AccountsLocked(self._locked)
        secret = self._secrets.get(address)
        if secret is None:
            raise UnknownAccount(address)
        return secret
