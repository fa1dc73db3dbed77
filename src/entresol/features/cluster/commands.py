"""The commands of operators: `entresol cluster init`, `status` and `unwind`."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol.chain.genesis.stored_genesis import identity
from entresol.counted import counted
from entresol.errors import InvalidConfig
from entresol.features.cluster.joining import check_l1_url, open_database, shared_settings
from entresol.features.cluster.postgres import tables
from entresol.features.cluster.postgres.connection import FLAG
from entresol.features.cluster.postgres.journal import LogWriter, write_unwind
from entresol.features.cluster.postgres.lease import give_up_lease, read_lease, seize_lease
from entresol.features.cluster.postgres.tables import ClusterChain, find_chain, write_chain
from entresol.node.opening.layer_two import open_layer_two
from entresol.node.settlement.manifest import RecordedToken, SettlementManifest, encode_manifest
from entresol.node.settlement.remote_setup import connect_remote
from entresol.node.settlement.settlement_layer import verify_registration

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig

log = logging.getLogger(__name__)

UNWIND_SECONDS: Final = 60.0
"""How long a command that unwinds holds the lease at most: it reads the log meanwhile, and gives up the lease then."""

_OPERATOR: Final = "entresol cluster unwind"
_NODES: Final = """
select role, url, epoch, head, seq, extract(epoch from clock_timestamp() - seen)::float8 as age
from node order by role, url, id
"""


class NodeStatus(NamedTuple):
    """The last report of a node about itself."""

    role: str
    url: str
    epoch: int
    head: int
    seq: int
    age_seconds: float


class ClusterStatus(NamedTuple):
    """The state of a cluster."""

    chain_id: int
    epoch: int
    producer: str | None
    """The URL of the node that produces."""
    head: int
    seq: int
    pending: int
    nodes: tuple[NodeStatus, ...]

    def table(self) -> str:
        """Return the state as a table."""
        producer = self.producer or "nobody"
        lines = [
            f"chain {self.chain_id}, epoch {self.epoch}, produced by {producer}",
            f"block {self.head}, log entry {self.seq}, {counted(self.pending, 'transaction')} in the pool",
            f"{'role':<10}{'head':>10}{'lag':>8}{'epoch':>8}{'seen':>9}  address",
        ]
        for node in self.nodes:
            lag, seen = self.head - node.head, f"{node.age_seconds:.1f} s"
            lines.append(
                f"{node.role:<10}{node.head:>10}{lag:>8}{node.epoch:>8}{seen:>9}  {node.url}"
            )
        return "\n".join(lines)


async def init(config: NodeConfig) -> str:
    """Create the tables and the chain if there are none; return what was done."""
    database = open_database(config)
    async with database.session() as connection:
        await tables.create(connection)
        if (found := await find_chain(connection)) is not None:
            return f"the cluster has chain {found.chain_id}, and its tables are there"
    check_l1_url(config)
    if config.chain.data_dir is not None:
        raise InvalidConfig(
            "--data-dir", "a cluster starts as a new chain, so this has no use here"
        )
    chain = await _new_chain(_with_time(config))
    async with database.session() as connection:
        await write_chain(connection, chain)
        found = await find_chain(connection)
    if found is None or found.identity != chain.identity:
        raise InvalidConfig(FLAG, "another chain was created there at the same time")
    return f"created chain {chain.chain_id} in {database.address.redacted}"


async def status(config: NodeConfig) -> ClusterStatus:
    """Return the state of the cluster."""
    async with open_database(config).session() as connection:
        await tables.check(connection)
        chain = await find_chain(connection)
        lease = await read_lease(connection)
        pending = await connection.fetchval("select count(*) from pool")
        nodes = tuple(NodeStatus(*row) for row in await connection.fetch(_NODES))
    return ClusterStatus(
        chain_id=0 if chain is None else chain.chain_id,
        epoch=lease.epoch,
        producer=None if lease.is_free else lease.url,
        head=lease.head,
        seq=lease.end.seq,
        pending=pending,
        nodes=nodes,
    )


async def unwind(config: NodeConfig, number: int) -> str:
    """Unwind to a block: its successors' transactions are pending again; return what was done."""
    database = open_database(config)
    async with database.session() as connection:
        await tables.check(connection)
        head = (await read_lease(connection)).head
        held = await seize_lease(connection, _OPERATOR, UNWIND_SECONDS)
        try:
            count = await write_unwind(
                connection, LogWriter(connection, held, UNWIND_SECONDS), number
            )
        finally:
            await give_up_lease(connection, held.epoch, _OPERATOR)
    verb = "is" if count == 1 else "are"
    return f"unwound from block {head} to {number}; {counted(count, 'transaction')} {verb} pending again"


def _with_time(config: NodeConfig) -> NodeConfig:
    """Return a configuration with the time of a new genesis, which is opened twice: to register it, and to store it."""
    chain = config.chain
    if (chain.timestamp, chain.genesis, chain.init) != (None, None, None):
        return config
    chain = msgspec.structs.replace(chain, timestamp=int(time.time()))
    return msgspec.structs.replace(config, chain=chain)


async def _new_chain(config: NodeConfig) -> ClusterChain:
    (layer,) = await connect_remote(config)
    try:
        l1_chain_id, contracts, token = layer.l1_chain_id, layer.contracts, layer.base_token
        chain, _ = open_layer_two(config, l1_chain_id, contracts, base_token=token)
        try:
            await verify_registration(config, layer, chain)
            genesis = chain.genesis
        finally:
            chain.close()
    finally:
        await layer.l1.close()
    manifest = SettlementManifest(
        l1_chain_id=layer.l1_chain_id,
        contracts=layer.contracts,
        deployment_block=layer.deployment_block,
        paid_in=RecordedToken.of(layer.base_token),
    )
    return ClusterChain(
        identity=identity(genesis),
        chain_id=genesis.chain_id,
        genesis=genesis.dump(),
        settings=shared_settings(config),
        l1_chain_id=layer.l1_chain_id,
        settlement=encode_manifest(manifest),
    )
