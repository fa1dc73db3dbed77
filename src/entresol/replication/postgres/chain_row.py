"""What a cluster's chain is: genesis, settings that all nodes share, and the contracts on L1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entresol.errors import InvalidConfig
from entresol.replication.postgres.address import FLAG

if TYPE_CHECKING:
    import asyncpg


class ClusterChain(msgspec.Struct, frozen=True, kw_only=True):
    """The chain of a cluster, which a node that joins takes from the database."""

    identity: bytes
    """The hash that identifies the genesis."""
    chain_id: int
    genesis: bytes
    """The genesis as geth's JSON."""
    settings: bytes
    """The settings that every node must have in common, as JSON."""
    l1_chain_id: int
    settlement: bytes
    """The L1 and the contracts on it, as JSON."""


async def write_chain(connection: asyncpg.Connection[Any], chain: ClusterChain) -> None:
    """Write the chain of a new cluster; that of an existing one stays."""
    await connection.execute(
        "insert into chain (identity, chain_id, genesis, settings, l1_chain_id, settlement) "
        "values ($1, $2, $3, $4::text::jsonb, $5, $6::text::jsonb) on conflict do nothing",
        chain.identity,
        chain.chain_id,
        chain.genesis,
        chain.settings.decode(),
        chain.l1_chain_id,
        chain.settlement.decode(),
    )


async def find_chain(connection: asyncpg.Connection[Any]) -> ClusterChain | None:
    """Return the chain of a cluster; None if it has none yet."""
    row = await connection.fetchrow(
        "select identity, chain_id, genesis, settings::text, l1_chain_id, settlement::text from chain"
    )
    if row is None:
        return None
    return ClusterChain(
        identity=row["identity"],
        chain_id=row["chain_id"],
        genesis=row["genesis"],
        settings=row["settings"].encode(),
        l1_chain_id=row["l1_chain_id"],
        settlement=row["settlement"].encode(),
    )


async def read_chain(connection: asyncpg.Connection[Any]) -> ClusterChain:
    """Return the chain of a cluster."""
    found = await find_chain(connection)
    if found is None:
        raise InvalidConfig(
            FLAG, "the cluster has no chain yet: run entresol cluster init with the same URL"
        )
    return found
