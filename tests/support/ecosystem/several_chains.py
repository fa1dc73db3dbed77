"""Several L2s on one development L1 in this process, each with what users do between it and L1."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from entresol.inprocess.loop_thread import LoopThread
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.node import Node
from entresol.node.open_node import open_node
from tests.support.polling import eventually
from tests.support.rollup.pair import Pair
from tests.support.rpc_client import HttpRpcClient


def several_config(count: int, path: Path | None = None, **flags: Any) -> NodeConfig:
    """Return the settings of so many L2s on free ports, which settle fast."""
    quick = {"chains": str(count), "port": 0, "l1_port": 0, "l1_delay": 0, "settle_interval": 0.05}
    directory = {} if path is None else {"data_dir": str(path)}
    return SETTINGS.load(quick | directory | flags, {}, None)


class SeveralChains(NamedTuple):
    """A running node, and each of its L2s with their L1."""

    node: Node
    loop: LoopThread
    pairs: Sequence[Pair]

    def settled(self, index: int) -> int:
        """Wait until everything of an L2 is final on L1, and return how many batches L1 has executed of it."""
        pair = self.pairs[index]
        head = self.last_with_contents(index)
        finalized = "eth_getBlockByNumber", "finalized", False
        eventually(lambda: int(pair.l2(*finalized)["number"], 16) >= head)
        return int(pair.call_l1(pair.chain, "getTotalBatchesExecuted"))

    def last_with_contents(self, index: int) -> int:
        """Return the last block of an L2 that does more than import roots: those wait for others to be settled with."""
        l2 = self.pairs[index].l2
        number = int(l2("eth_blockNumber"), 16)
        while number:
            sent = l2("eth_getBlockByNumber", hex(number), True)["transactions"]
            if not sent or any(transaction["type"] != "0x7d" for transaction in sent):
                break
            number -= 1
        return number

    def quiet(self) -> None:
        """Wait until every L2 is settled, L1 has the books of it, and the others have imported its roots."""
        for index in range(len(self.pairs)):
            self.settled(index)
        eventually(lambda: all(map(self._is_quiet, range(len(self.pairs)))))

    def _is_quiet(self, index: int) -> bool:
        roots = self.node.rollups[index].roots
        batches = self.node.layer_twos[index].chain.batches
        head, last = int(self.pairs[0].l1("eth_blockNumber"), 16), batches.last()
        numbers = range(1, 1 + (0 if last is None or len(self.pairs) == 1 else last.number))
        found = [batches.get(number) for number in numbers]
        sending = [entry.number for entry in found if entry is not None and entry.has_messages]
        is_booked = all(batches.books.get(entry) is not None for entry in sending)
        return is_booked and roots.block == head and not roots.importer.pending

    @contextlib.contextmanager
    def added(self, **chain: object) -> Iterator[Pair]:
        self.pairs[0].l2("entresol_addChain", chain)
        with contextlib.closing(_pair(self.node, len(self.node.layer_twos) - 1)) as pair:
            yield pair

    def goes_on(self, index: int) -> None:
        """Check that an L2 seals what is sent, takes a deposit and settles both."""
        pair = self.pairs[index]
        assert pair.arrived(pair.deposit(1))["status"] == "0x1"
        assert pair.l2.receipt(pair.withdraw(1))["status"] == "0x1"
        self.settled(index)


@contextlib.contextmanager
def several_chains(config: NodeConfig) -> Iterator[SeveralChains]:
    loop = LoopThread("several L2s")
    loop.start()
    try:
        node = loop.run(_started(config))
        pairs: list[Pair] = []
        try:
            pairs += (_pair(node, number) for number in range(len(node.layer_twos)))
            yield SeveralChains(node, loop, pairs)
        finally:
            for pair in pairs:
                pair.close()
            loop.run(node.stop())
    finally:
        loop.stop()


async def _started(config: NodeConfig) -> Node:
    node = await open_node(config)
    await node.start()
    return node


def _pair(node: Node, index: int) -> Pair:
    layer_one, layer_two = node.layer_one, node.layer_twos[index]
    assert layer_one is not None
    contracts = msgspec.structs.asdict(node.rollups[index].settlement_layer.contracts)
    named = {name: it for name, it in contracts.items() if it is not None}
    l1, l2 = (HttpRpcClient(f"http://{layer.address}") for layer in (layer_one, layer_two))
    return Pair(l1, l2, named, layer_two.chain.rules.chain_id)
