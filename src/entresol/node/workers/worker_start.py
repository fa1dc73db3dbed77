"""What a worker is started with."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from entresol.l1.deployment import SettlementContracts
    from entresol.node.config.schema import NodeConfig
    from entresol.node.explorer.explorer_page import ExplorerPage


class WorkerLayer(msgspec.Struct, frozen=True):
    """A chain that workers serve."""

    path: str
    """The data directory of the producer's chain."""
    page: int
    """The file descriptor of its state page."""
    port: int
    explorer: ExplorerPage | None


class WorkerCluster(msgspec.Struct, frozen=True):
    """What a worker knows of the cluster of its node."""

    genesis: bytes
    """The genesis as geth's JSON."""
    path: str
    """What the path of a request begins with that another node has forwarded."""


class WorkerStart(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker serves."""

    index: int
    config: NodeConfig
    layers: tuple[WorkerLayer, ...]
    l1_chain_id: int | None
    contracts: SettlementContracts | None
    cluster: WorkerCluster | None = None
    """The cluster that the node is in."""

    def encode(self) -> bytes:
        """Return the bytes that `decode_start` reads; without secrets, which no worker needs."""
        l1 = msgspec.structs.replace(
            self.config.l1, operator_key=None, prove_key=None, execute_key=None
        )
        cluster = msgspec.structs.replace(self.config.cluster, cluster=None)
        config = msgspec.structs.replace(self.config, l1=l1, cluster=cluster)
        return pickle.dumps(msgspec.structs.replace(self, config=config))


def decode_start(payload: bytes) -> WorkerStart:
    """Return what the producer, which started this process, has sent over their socket."""
    start = pickle.loads(payload)  # noqa: S301 - nobody else has the other end of the socket
    assert isinstance(start, WorkerStart)
    return start
