"""The genesis of a layer that is a fork: its anchor, development accounts, and contracts of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.genesis.fork_genesis import fork_genesis
from entresol.execution.block_executor import BEACON_ROOTS, HISTORY_STORAGE
from entresol.features.fork.opening.first_block import seal_first_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from entresol.chain.chain import Chain
    from entresol.chain.genesis.genesis import Genesis, GenesisAccount
    from entresol.features.fork.opening.open_fork import OpenFork
    from entresol.primitives.values import Address


def begin_fork(chain: Chain, fork: OpenFork | None) -> None:
    """Execute what a fork has to before anything else."""
    if fork is not None and fork.first_block is not None:
        seal_first_block(chain, fork.first_block)


def genesis_of_fork(
    fork: OpenFork,
    chain_id: int,
    funded: Iterable[Address],
    balance: int,
    contracts: Mapping[Address, GenesisAccount] | None = None,
) -> Genesis:
    """Return the genesis of a fork: `funded` accounts keep nonce and code, and `contracts` replace what is there.

    All accounts are asked for at once, also those that every block writes to.
    """
    accounts = list(funded)
    found = fork.funded((*accounts, BEACON_ROOTS, HISTORY_STORAGE))
    return fork_genesis(
        fork.remote.anchor,
        chain_id=chain_id,
        funded={account: found[account] for account in accounts},
        balance=balance,
        contracts=contracts,
        kept={
            address: found[address]
            for address in (BEACON_ROOTS, HISTORY_STORAGE)
            if found[address].code
        },
    )
