"""Raw transactions over HTTP until they are in durable blocks, with automine, beside anvil's in memory."""

from __future__ import annotations

import http.client
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from benchmarks.bench_chain import ADDRESSES, ETHER
from benchmarks.bench_rpc import raw_transaction, request, wait_until_mined
from benchmarks.harness import Peer, Row, Target
from benchmarks.servers import CHAIN_ID, GAS_LIMIT
from tests.support.anvil import Anvil, free_port, running_anvil
from tests.support.node_process import running_node
from tests.support.rpc_client import HttpRpcClient

T = TypeVar("T")

ROUNDS: Final = 3
CONNECTIONS: Final = 4
BATCH: Final = 100
SENDERS: Final = range(500)
BATCHED: Final = 5_000
"""Transactions of a round in batches."""
SINGLE: Final = 500
"""Transactions of a round one by one, and of anvil's rounds, which stalls with some thousands pending."""
SENT_BY_NODE: Final = 50
"""Transactions of a turn that the nodes sign themselves."""
TURNS: Final = 8
POLL_SECONDS: Final = 0.005


def rows() -> Iterable[Row]:
    """Measure a node with a data directory and anvil in turns."""
    with both() as clients:
        nonces = [count() for _ in clients]
        for what, measure, target in (
            (f"{CONNECTIONS} connections, batches of {BATCH}, automine", in_batches, 5_000),
            ("one connection, one by one, automine", partial(singly, 1), None),
            ("16 connections, one by one, automine", partial(singly, 16), None),
        ):
            yield row(what, measure, clients, nonces, target)
        yield delay_beside(clients[0], nonces[0])
    with fresh() as clients:
        yield from round_by_round(clients)


def row(
    what: str,
    measure: Callable[[HttpRpcClient, Iterator[int]], float],
    clients: Sequence[HttpRpcClient],
    nonces: Sequence[Iterator[int]],
    target: float | None,
) -> Row:
    """Measure both in turns, so that what else the machine does meets both."""
    rates: list[list[float]] = [[] for _ in clients]
    blocks = int(clients[0]("eth_blockNumber"), 16)
    for _ in range(ROUNDS):
        for at, client in enumerate(clients):
            rates[at].append(measure(client, nonces[at]))
    sealed = int(clients[0]("eth_blockNumber"), 16) - blocks
    ours, theirs = (statistics.median(rate) for rate in rates)
    return Row(
        what=f"raw transactions, {what}",
        value=ours,
        unit="/s",
        peer=Peer("anvil, in memory", theirs),
        target=None if target is None else Target(target, "at least"),
        note=f"{sealed // ROUNDS} blocks a round",
    )


@contextmanager
def both() -> Iterator[tuple[HttpRpcClient, HttpRpcClient]]:
    """Start a node on a data directory, and anvil; both with the same rich accounts."""
    flags = ["--gas-limit", str(GAS_LIMIT), "--silent"]
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        info = directory / "facts.json"
        ours = ["--no-l1", "--chain-id", str(CHAIN_ID), "--config-out", str(info)]
        ours += ["--data-dir", str(directory / "chain")]
        node = stack.enter_context(running_node(*flags, *ours, info=info))
        port = stack.enter_context(free_port())
        anvil = stack.enter_context(running_anvil(*flags, port=port))
        client = HttpRpcClient(node.url)
        stack.callback(client.close)
        for server in (client, anvil):
            for some in batched(ADDRESSES[: len(SENDERS)], 250):
                server.batch([("anvil_setBalance", [str(one), hex(100 * ETHER)]) for one in some])
        yield client, anvil


@contextmanager
def fresh() -> Iterator[tuple[HttpRpcClient, HttpRpcClient]]:
    """Start a pair and anvil with their default flags, and connect the same client to both.

    Not the `Anvil` of the tests: that one asks after each send whether it is mined, and sleeps until then.
    """
    with ExitStack() as stack:
        node, anvil = stack.enter_context(running_node()), stack.enter_context(running_anvil())
        clients = HttpRpcClient(node.url), HttpRpcClient(anvil.url)
        for client in clients:
            stack.callback(client.close)
        yield clients


def batched(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Return the items in parts of `size`."""
    return [items[first : first + size] for first in range(0, len(items), size)]


def transfers(nonces: Iterator[int], number: int) -> list[dict[str, object]]:
    """Return requests that send `number` transfers, one of each sender after the other."""
    raws = [
        raw_transaction(sender, nonce)
        for nonce in (next(nonces) for _ in range(-(-number // len(SENDERS))))
        for sender in SENDERS
    ]
    return [
        request("eth_sendRawTransaction", "0x" + raw.hex(), number=at)
        for at, raw in enumerate(raws)
    ]


def in_batches(client: HttpRpcClient, nonces: Iterator[int]) -> float:
    """Return transactions a second in batches over a few connections, until all are mined."""
    number = SINGLE if isinstance(client, Anvil) else BATCHED
    bodies = [msgspec.json.encode(batch) for batch in batched(transfers(nonces, number), BATCH)]
    return number / seconds_of(client, bodies, CONNECTIONS)


def singly(connections: int, client: HttpRpcClient, nonces: Iterator[int]) -> float:
    """Return transactions a second in requests of one, until all are mined."""
    bodies = [msgspec.json.encode(transfer) for transfer in transfers(nonces, SINGLE)]
    return len(bodies) / seconds_of(client, bodies, connections)


def seconds_of(client: HttpRpcClient, bodies: Sequence[bytes], connections: int) -> float:
    """Return how long it takes to send all bodies and to mine what they bring."""
    shares = [bodies[at::connections] for at in range(connections)]
    started = time.perf_counter()
    with ThreadPoolExecutor(connections) as threads:
        for _ in threads.map(partial(send_share, client.url), shares):
            pass
    wait_until_mined(client)
    return time.perf_counter() - started


def send_share(url: str, bodies: Sequence[bytes]) -> None:
    """Send requests over one connection, one after the other; all must have results."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port)
    with closing(connection):
        for body in bodies:
            connection.request("POST", "/", body, {"content-type": "application/json"})
            response = connection.getresponse().read()
            assert b'"error"' not in response, response


def round_by_round(clients: Sequence[HttpRpcClient]) -> Iterator[Row]:
    """Measure how Hardhat sends: `eth_sendTransaction`, then the receipt until it is there, then the next.

    Both are new, have as many blocks, and are asked by the same client in turns; anvil mines after its response, so its
    receipt may be asked for again.
    """
    taken: list[list[float]] = [[] for _ in clients]
    for _ in range(TURNS):
        for at, client in enumerate(clients):
            transfer = {"from": client("eth_accounts")[0], "to": str(ADDRESSES[0]), "value": "0x1"}
            taken[at] += [seconds_of_round(client, transfer) for _ in range(SENT_BY_NODE)]
    ranks = [statistics.quantiles(seconds, n=10) for seconds in taken]
    for name, rank in (("median", 4), ("quickest tenth", 0)):
        ours, theirs = (quantiles[rank] * 1e3 for quantiles in ranks)
        yield Row(
            what=f"eth_sendTransaction and its receipt, one by one, {name}",
            value=ours,
            unit="ms",
            peer=Peer("anvil, in memory", theirs),
            target=Target(round(theirs, 2), "at most"),
            note=f"default flags, {TURNS * SENT_BY_NODE} blocks",
        )


def seconds_of_round(client: HttpRpcClient, transfer: dict[str, str]) -> float:
    """Return how long it takes to send a transaction and to have its receipt."""
    started = time.perf_counter()
    sent = client("eth_sendTransaction", transfer)
    while client("eth_getTransactionReceipt", sent) is None:
        pass
    return time.perf_counter() - started


def delay_beside(client: HttpRpcClient, nonces: Iterator[int]) -> Row:
    """Measure how long another client waits for `eth_blockNumber` beside the batches."""
    bodies = [msgspec.json.encode(batch) for batch in batched(transfers(nonces, BATCHED), BATCH)]
    waits: list[float] = []
    poller = HttpRpcClient(client.url)
    with closing(poller), ThreadPoolExecutor(1) as threads:
        sending = threads.submit(seconds_of, client, bodies, CONNECTIONS)
        while not sending.done():
            started = time.perf_counter()
            poller("eth_blockNumber")
            waits.append(time.perf_counter() - started)
            time.sleep(POLL_SECONDS)
        sending.result()
    return Row(
        what="eth_blockNumber beside them, p99",
        value=statistics.quantiles(waits, n=100)[98] * 1e3,
        unit="ms",
        target=Target(20, "at most"),
        note=f"p50 {statistics.median(waits) * 1e3:.1f}, longest {max(waits) * 1e3:.0f} ms",
    )
