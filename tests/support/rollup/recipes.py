"""Nodes of all recipes in this process, without anything else that runs."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import Mock

import msgspec

from entresol.features.cluster.joining import Joined
from entresol.features.cluster.member_node import member
from entresol.features.cluster.postgres.connection import ClusterAddress, ClusterDatabase
from entresol.features.cluster.settings import ClusterConfig
from entresol.features.dev.settings import DevConfig
from entresol.features.workers.channel import Channel
from entresol.features.workers.settings import WorkersConfig
from entresol.features.workers.supervisor import WorkerSupervisor
from entresol.features.workers.worker_node import worker
from entresol.features.workers.worker_process import WorkerStart
from entresol.l1.operator import OperatorKeys
from entresol.l1.remote_layer_one import RemoteLayerOne
from entresol.node.build_node import build_node
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.node import Node
from entresol.node.open_node import open_layer_one_node
from entresol.node.opening.development_keys import OPERATOR
from entresol.node.opening.layer_two import open_layer_two
from entresol.node.settlement.settlement_layer import SettlementLayer, development_contracts
from entresol.server.config import ServerConfig
from entresol.terminal.config import LogConfig
from entresol.terminal.log import NodeLog
from entresol.terminal.writer import TerminalWriter

NOWHERE = "127.0.0.1:1"


@contextlib.asynccontextmanager
async def made(recipe: str, folder: Path) -> AsyncIterator[Node]:
    """Make a node of a recipe that has not started; whoever starts it also stops it."""
    if recipe == "worker":
        async with _worker(folder) as node:
            yield node
    else:
        make = {
            "ecosystem": _ecosystem,
            "remote": _remote,
            "layer_one": _layer_one,
            "member": _member,
        }[recipe]
        yield await make(folder)


def pair_config(folder: Path) -> NodeConfig:
    """Return the configuration of an ecosystem in a folder, which also dumps its L2."""
    return NodeConfig(
        chain=ChainConfig(data_dir=str(folder / "chain")),
        l1=L1Config(l1_port=0, l1_delay=0),
        server=ServerConfig(port=0),
    ).with_(DevConfig, dump_state=str(folder / "state.json"))


async def _ecosystem(folder: Path) -> Node:
    return build_node(pair_config(folder))


async def _remote(folder: Path) -> Node:
    config = NodeConfig(
        chain=ChainConfig(data_dir=str(folder / "chain")),
        l1=L1Config(l1_url=f"http://{NOWHERE}"),
        server=ServerConfig(port=0),
    )
    return build_node(config, remote=(_settlement_layer(),))


async def _layer_one(folder: Path) -> Node:
    config = NodeConfig(l1=L1Config(l1=False), server=ServerConfig(port=0))
    return await open_layer_one_node(config.with_(DevConfig, dump_state=str(folder / "state.json")))


async def _member(folder: Path) -> Node:
    url = f"postgresql://nobody@{NOWHERE}/none"
    config = NodeConfig(
        chain=ChainConfig(data_dir=str(folder / "chain")),
        l1=L1Config(l1_url=f"http://{NOWHERE}"),
        server=ServerConfig(port=0),
    ).with_(ClusterConfig, cluster=url)
    chain, fees = open_layer_two(config, 31337, development_contracts())
    database = ClusterDatabase(ClusterAddress(url), 3.0)
    genesis = chain.genesis.dump()
    return member(Joined(config, database, chain, fees, _settlement_layer(), genesis))


def _settlement_layer() -> SettlementLayer:
    return SettlementLayer(
        l1=RemoteLayerOne(f"http://{NOWHERE}"),
        l1_chain_id=31337,
        contracts=development_contracts(),
        operator_keys=OperatorKeys.of(OPERATOR.secret),
    )


@contextlib.asynccontextmanager
async def _worker(folder: Path) -> AsyncIterator[Node]:
    producer = build_node(pair_config(folder).with_(WorkersConfig, workers=2))
    *parts, workers = producer.parts
    assert isinstance(workers, WorkerSupervisor)
    here, there = socket.socketpair()
    here.setblocking(False)
    log = NodeLog(LogConfig(silent=True), TerminalWriter(), colours=False)
    try:
        for part in parts:
            await part.start()
        channel = await Channel.open(here, Mock(), on_bug=_raise)
        yield worker(_with_own_pages(workers.start_message()), channel, log).node
        channel.close()
    finally:
        there.close()
        log.close()
        await producer.stop()


def _with_own_pages(start: WorkerStart) -> WorkerStart:
    """Return the message with file descriptors of the pages as another process has them."""
    layers = (msgspec.structs.replace(layer, page=os.dup(layer.page)) for layer in start.layers)
    return msgspec.structs.replace(start, layers=tuple(layers))


def _raise(error: BaseException) -> None:
    raise error
