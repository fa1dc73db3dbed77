"""Several chains in one node: their start, their memory, and what idle ones cost the one that is used."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.harness import Peer, Row, Target
from benchmarks.servers import Server
from tests.support.clients.accounts import signed_transfer
from tests.support.node_process import running_node
from tests.support.rpc_client import HttpRpcClient

ONE, THREE, FIVE = 1, 3, 5
STARTS: Final = 5
ROUNDS: Final = 7
READS: Final = 3_000
SENDS: Final = 300
IDLE_SECONDS: Final = 3.0

MAX_START: Final = 1.5
"""How many times as long as one pair three chains may take to start."""
MAX_CHAIN_BYTES: Final = 40 << 20
MAX_SLOWER: Final = 1.03
MIB: Final = 1 << 20


def rows() -> Iterable[Row]:
    """Measure nodes of one, three and five L2s in turns, all by processor time, which other work disturbs least."""
    yield from _starts()
    with ExitStack() as stack:
        one, three, five = (stack.enter_context(_running(chains)) for chains in (ONE, THREE, FIVE))
        yield _memory("idle", one, five, FIVE - ONE)
        yield _beside("reads of one chain", one, three, _reads)
        nonces = {one.pid: count(), three.pid: count()}
        yield _beside("sends to one chain", one, three, lambda it: _sends(it, nonces[it.pid]))
        yield _idle(one, three)
    with _running(ONE) as one, _running(THREE) as three:
        for server in (one, three):
            for client in _clients(server):
                _use(client)
        yield _memory(f"{SENDS} blocks and their reads on each", one, three, THREE - ONE)


def _starts() -> Iterable[Row]:
    seconds: dict[int, list[float]] = {ONE: [], THREE: []}
    used: dict[int, list[float]] = {ONE: [], THREE: []}
    for _ in range(STARTS):
        for chains in (ONE, THREE):
            begun = time.perf_counter()
            with _running(chains) as server:
                for client in _clients(server):
                    client("eth_blockNumber")
                seconds[chains].append(time.perf_counter() - begun)
                used[chains].append(server.cpu_seconds())
    for what, values in (("", seconds), (", processor time", used)):
        one, three = (min(values[chains]) * 1e3 for chains in (ONE, THREE))
        yield Row(
            what=f"start of three chains and L1 to the first responses of all{what}",
            value=three,
            unit="ms",
            peer=Peer("one chain", one),
            target=Target(MAX_START * one, "at most"),
        )


def _memory(when: str, fewer: Server, more: Server, difference: int) -> Row:
    each = (more.resident_bytes() - fewer.resident_bytes()) / difference
    return Row(
        what=f"memory of another chain, {when}",
        value=each / MIB,
        unit="MiB",
        target=Target(MAX_CHAIN_BYTES / MIB, "at most"),
        note=f"of {fewer.resident_bytes() / MIB:.0f} MiB of a node with one",
    )


def _beside(what: str, one: Server, three: Server, work: Callable[[Server], int]) -> Row:
    """Return what a request takes beside two idle chains; the peer is a node without them."""
    used: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for server, values in zip((one, three), used, strict=True):
            before = server.cpu_seconds()
            done = work(server)
            values.append((server.cpu_seconds() - before) / done * 1e6)
    alone, beside = map(min, used)
    return Row(
        what=f"{what} beside two idle ones, processor time",
        value=beside,
        unit="µs",
        peer=Peer("alone", alone),
        target=Target(MAX_SLOWER * alone, "at most"),
    )


def _idle(one: Server, three: Server) -> Row:
    used = []
    for server in (one, three):
        before = server.cpu_seconds()
        time.sleep(IDLE_SECONDS)
        used.append((server.cpu_seconds() - before) / IDLE_SECONDS * 1e3)
    return Row(
        what="idle node of three chains, processor time a second",
        value=used[1],
        unit="ms",
        peer=Peer("one chain", used[0]),
    )


def _reads(server: Server) -> int:
    address = f"0x{1:040x}"
    for _ in range(READS):
        server.client("eth_getBalance", address, "latest")
    return READS


def _sends(server: Server, nonces: Iterator[int]) -> int:
    chain_id = int(server.client("eth_chainId"), 16)
    for _ in range(SENDS):
        raw = signed_transfer(next(nonces), chainId=chain_id)
        server.client("eth_sendRawTransaction", raw)
    return SENDS


def _use(client: HttpRpcClient) -> None:
    chain_id = int(client("eth_chainId"), 16)
    for nonce in range(SENDS):
        sent = client("eth_sendRawTransaction", signed_transfer(nonce, chainId=chain_id))
        client("eth_getTransactionReceipt", sent)
        client("eth_getBlockByNumber", "latest", True)  # noqa: FBT003 - whole transactions


@contextmanager
def _running(chains: int) -> Iterator[Server]:
    with ExitStack() as stack:
        info = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "info.json"
        # Settlement depends on how long a round takes.
        flags = ("--chains", str(chains), "--no-settle", "--silent", "--config-out", str(info))
        node = stack.enter_context(running_node(*flags, info=info))
        client = HttpRpcClient(node.url)
        stack.callback(client.close)
        yield Server(str(info), client, node.process.pid)


def _clients(server: Server) -> Iterator[HttpRpcClient]:
    known = json.loads(Path(server.name).read_text(encoding="utf-8"))
    for chain in known.get("chains", [known]):
        client = HttpRpcClient(chain["http_url"])
        yield client
        client.close()
