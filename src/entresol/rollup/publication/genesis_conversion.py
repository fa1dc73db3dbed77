"""The genesis of a chain as it is published, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.errors import NotPublishable
from entresol.primitives.published.genesis import PublishedAccount, PublishedGenesis

if TYPE_CHECKING:
    from entresol.primitives.published.rules import BlockRules
    from entresol.primitives.values import Address


def published_genesis(genesis: Genesis, rules: BlockRules) -> PublishedGenesis:
    """Return what is published of a genesis; raise `NotPublishable` for that of a fork, whose state is elsewhere."""
    if genesis.anchor is not None:
        raise NotPublishable("genesis.anchor", f"its state is that of {genesis.anchor}")
    if genesis.chain_id != rules.chain_id:
        problem = f"{rules.chain_id} expected, got {genesis.chain_id}"
        raise NotPublishable("genesis.chain_id", problem)
    return PublishedGenesis(
        rules=rules,
        number=genesis.number,
        timestamp=genesis.timestamp,
        gas_limit=genesis.gas_limit,
        base_fee=genesis.base_fee,
        beneficiary=genesis.beneficiary,
        extra_data=genesis.extra_data,
        difficulty=genesis.difficulty,
        mix_hash=genesis.mix_hash,
        nonce=genesis.nonce,
        accounts=tuple(
            _published(address, genesis.alloc[address]) for address in sorted(genesis.alloc)
        ),
    )


def genesis_of(published: PublishedGenesis) -> Genesis:
    """Return the genesis that was published."""
    return Genesis(
        chain_id=published.rules.chain_id,
        number=published.number,
        timestamp=published.timestamp,
        gas_limit=published.gas_limit,
        base_fee=published.base_fee,
        beneficiary=published.beneficiary,
        extra_data=published.extra_data,
        difficulty=published.difficulty,
        mix_hash=published.mix_hash,
        nonce=published.nonce,
        alloc={
            account.address: GenesisAccount(
                balance=account.balance,
                nonce=account.nonce,
                code=account.code,
                storage=dict(account.slots),
            )
            for account in published.accounts
        },
    )


def _published(address: Address, account: GenesisAccount) -> PublishedAccount:
    # A slot that is zero is not a slot.
    slots = tuple((slot, value) for slot, value in sorted(account.storage.items()) if any(value))
    return PublishedAccount(
        address=address,
        nonce=account.nonce,
        balance=account.balance,
        code=account.code,
        slots=slots,
    )
