"""The genesis of a fork: its anchor, and what the fork lays over the state of the remote chain there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.primitives.bytecode import is_delegation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from entresol.primitives.anchor import Anchor
    from entresol.primitives.values import Address


class AnchoredAccount(NamedTuple):
    """An account as the remote has it at the anchor."""

    nonce: int = 0
    balance: int = 0
    code: bytes = b""


def fork_genesis(
    anchor: Anchor,
    *,
    chain_id: int,
    funded: Mapping[Address, AnchoredAccount],
    balance: int,
    contracts: Mapping[Address, GenesisAccount] | None = None,
    kept: Mapping[Address, AnchoredAccount] | None = None,
) -> Genesis:
    """Return the genesis of a fork that stands on `anchor`; every account in it is complete, so nothing is read for it.

    Accounts in `funded` have `balance`, and nonce, code and storage as the remote has them; a delegation (EIP-7702) is
    dropped, because the keys are public and others have swept and delegated them. `contracts` replace what the remote
    has at their addresses, with its storage. `kept` are accounts as the remote has them, so that it is not asked for
    them again: those of contracts that every block writes to.
    """
    alloc = {address: _kept(account) for address, account in (kept or {}).items()}
    alloc |= {address: _funded(account, balance) for address, account in funded.items()}
    # Only then is what the remote has in their storage gone.
    alloc |= {
        address: structs.replace(account, keeps_storage=False)
        for address, account in (contracts or {}).items()
    }
    return Genesis.of_header(anchor.header, chain_id, alloc, anchor)


def delegated(accounts: Mapping[Address, AnchoredAccount]) -> Iterable[Address]:
    """Yield the accounts whose delegation `fork_genesis` drops, so that the start can say so."""
    return (address for address, account in accounts.items() if is_delegation(account.code))


def _kept(account: AnchoredAccount) -> GenesisAccount:
    return GenesisAccount(
        balance=account.balance, nonce=account.nonce, code=account.code, keeps_storage=True
    )


def _funded(account: AnchoredAccount, balance: int) -> GenesisAccount:
    code = b"" if is_delegation(account.code) else account.code
    return GenesisAccount(balance=balance, nonce=account.nonce, code=code, keeps_storage=True)
