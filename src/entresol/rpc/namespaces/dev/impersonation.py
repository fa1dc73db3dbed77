"""Impersonated accounts: transactions without a signature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import AccountsLocked
from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.method import ServedBy, method

if TYPE_CHECKING:
    from entresol.dev.keyring import Keyring


class AnvilImpersonation:
    """Impersonation, with the results of anvil."""

    prefix = "anvil"

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    @method(AccountsLocked, served_by=ServedBy.PRODUCER)
    def impersonate_account(self, address: Address) -> None:
        """Let `eth_sendTransaction` send from an account without its key."""
        self._keyring.impersonate(address)

    @method(served_by=ServedBy.PRODUCER)
    def stop_impersonating_account(self, address: Address) -> None:
        """Stop impersonating an account."""
        self._keyring.stop_impersonating(address)

    @method(AccountsLocked, served_by=ServedBy.PRODUCER)
    def auto_impersonate_account(self, enabled: bool) -> None:
        """Enable or disable `eth_sendTransaction` from any account without its key."""
        self._keyring.impersonate_all(enabled=enabled)


class HardhatImpersonation:
    """Impersonation, with the results of Hardhat."""

    prefix = "hardhat"

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    @method(AccountsLocked, served_by=ServedBy.PRODUCER)
    def impersonate_account(self, address: Address) -> bool:
        """Let `eth_sendTransaction` send from an account without its key."""
        self._keyring.impersonate(address)
        return True

    @method(served_by=ServedBy.PRODUCER)
    def stop_impersonating_account(self, address: Address) -> bool:
        """Stop impersonating an account, and return whether it was impersonated."""
        return self._keyring.stop_impersonating(address)

    @method(AccountsLocked, served_by=ServedBy.PRODUCER)
    def auto_impersonate_account(self, enabled: bool) -> bool:
        """Enable or disable `eth_sendTransaction` from any account without its key."""
        self._keyring.impersonate_all(enabled=enabled)
        return True
