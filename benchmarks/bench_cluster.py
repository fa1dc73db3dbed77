"""A cluster on PostgreSQL: what it costs the producer, how far replicas lag, how fast they catch up, and reads."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from benchmarks.bench_rpc import request
from benchmarks.bench_send import batched, seconds_of
from benchmarks.cluster_lag import lags_under
from benchmarks.cluster_log import log_rows
from benchmarks.harness import Row
from benchmarks.load import Load, load
from benchmarks.processor_time import cpu_seconds
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address
from tests.support.cluster.nodes import (
    ClusterNodeProcess,
    ClusterProcesses,
    node_name,
    running_cluster,
)
from tests.support.cluster.postgres import Postgres, running_postgres
from tests.support.node_process import run_entresol, running_node
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient

CHAIN_ID: Final = 270
ROUNDS: Final = 3
CONNECTIONS: Final = 4
BATCH: Final = 100
BATCHED: Final = 4_000
"""Transactions of a round."""
NODES: Final = 3
RATE: Final = 500
LAG_SECONDS: Final = 10.0
FILLED: Final = 60_000
FILL_BATCH: Final = 25
"""What a new replica has to apply, in more blocks than a round of full batches makes."""
BODIES: Final = 2_000
FLAGS: Final = ("--gas-limit", "1000000000")
QUIET: Final = ("--log-level", "warning")

ACCOUNTS: Final = derive(DEVELOPMENT_MNEMONIC, 10)
_BLOCK: Final = "select payload from entresol.log where kind = 'block'"
_SIZES: Final = """
select array[sum(octet_length(payload)), pg_total_relation_size('entresol.log'),
    pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')] from entresol.log
"""


def rows() -> Iterable[Row]:
    """Measure a node alone and a cluster beside it in turns, then the cluster alone."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="entresol-bench-")))
        cluster = stack.enter_context(_cluster(folder))
        alone = ("--no-l1", *QUIET, "--data-dir", str(folder / "alone"), *FLAGS)
        node = stack.enter_context(running_node(*alone))
        producer = cluster.producer()
        nonces = [count(), count()]
        before = _sizes(cluster)
        targets = ((node.url, node.process.pid), (producer.url, producer.pid))
        yield from _cost_rows(targets, nonces)
        yield from _size_rows(before, _sizes(cluster))
        yield from _lag_rows(cluster, producer, nonces[1])
        yield from _read_rows(cluster.nodes)
        yield from _catch_up_rows(cluster, producer, nonces[1], folder)
        for what, order in (("the smallest block", "asc"), ("the largest block", "desc")):
            query = f"{_BLOCK} order by octet_length(payload) {order} limit 1"
            payload = cluster.fetch_value(query)
            yield from log_rows(cluster.postgres.new_database(), payload, what)


@contextmanager
def _cluster(folder: Path) -> Iterator[ClusterProcesses]:
    with running_postgres() as postgres:
        _make_durable(postgres)
        with running_cluster(postgres, folder, "--no-settle", *FLAGS) as cluster:
            for _ in range(NODES):
                cluster.add(*QUIET, "--lease-seconds", "3")
            yield cluster


def _make_durable(postgres: Postgres) -> None:
    """Let the server sync what it commits, which those of tests do not."""
    for statement in ("alter system set fsync = on", "select pg_reload_conf()"):
        postgres.execute(statement)


def _transfers(nonces: Iterator[int], number: int) -> list[dict[str, object]]:
    """Return requests that send `number` transfers, a batch of each account after the other."""
    to = Address(b"\xab" * 20)
    firsts = [next(nonces) for _ in range(-(-number // BATCH // len(ACCOUNTS)))]
    raws = [
        sign(
            FeeMarketTransaction(
                chain_id=CHAIN_ID,
                nonce=first * BATCH + index,
                max_priority_fee_per_gas=0,
                max_fee_per_gas=2 * 10**9,
                gas_limit=21_000,
                to=to,
                value=1,
            ),
            account.secret,
        ).raw
        for first in firsts
        for account in ACCOUNTS
        for index in range(BATCH)
    ]
    return [
        request("eth_sendRawTransaction", "0x" + raw.hex(), number=at)
        for at, raw in enumerate(raws[:number])
    ]


def _cost_rows(
    targets: Sequence[tuple[str, int]], nonces: Sequence[Iterator[int]]
) -> Iterator[Row]:
    rates: list[list[float]] = [[] for _ in targets]
    costs: list[list[float]] = [[] for _ in targets]
    for _ in range(ROUNDS):
        for at, (url, pid) in enumerate(targets):
            sent = _transfers(nonces[at], BATCHED)
            bodies = [msgspec.json.encode(batch) for batch in batched(sent, BATCH)]
            before = cpu_seconds(pid)
            with closing(HttpRpcClient(url)) as client:
                rates[at].append(len(sent) / seconds_of(client, bodies, CONNECTIONS))
            costs[at].append((cpu_seconds(pid) - before) / len(sent) * 1e6)
    names = ("a node alone", f"the producer of a cluster of {NODES}")
    for name, rate, cost in zip(names, rates, costs, strict=True):
        what = f"transfers, {CONNECTIONS} connections, batches of {BATCH}, durable, {name}"
        note = f"CPU of the node {min(cost):.0f} µs each"
        yield Row(what=what, value=statistics.median(rate), unit="/s", note=note)


def _size_rows(before: Sequence[int], after: Sequence[int]) -> Iterator[Row]:
    names = ("payloads", "table with indexes", "write-ahead log of PostgreSQL")
    for name, first, last in zip(names, before, after, strict=True):
        size = (last - first) / (ROUNDS * BATCHED)
        yield Row(what=f"log, {name}, for a transfer", value=size, unit="bytes")


def _sizes(cluster: ClusterProcesses) -> list[int]:
    return [int(size or 0) for size in cluster.fetch_value(_SIZES)]


def _lag_rows(
    cluster: ClusterProcesses, producer: ClusterNodeProcess, nonces: Iterator[int]
) -> Iterator[Row]:
    replica = next(node for node in cluster.nodes if node is not producer)
    number = int(RATE * LAG_SECONDS)
    bodies = [
        msgspec.json.encode(batch) for batch in batched(_transfers(nonces, number), RATE // 20)
    ]
    lags, rate = lags_under(producer.url, replica.url, bodies, 0.05)
    cuts = statistics.quantiles(lags, n=100)
    note = f"{rate * RATE / 20:.0f} transfers/s were sent, {len(lags)} blocks"
    for name, value in (("p50", cuts[49]), ("p99", cuts[98])):
        what = f"lag of a replica under {RATE} transfers/s, {name}"
        yield Row(what=what, value=value * 1e3, unit="ms", note=note)


def _read_rows(nodes: Sequence[ClusterNodeProcess]) -> Iterator[Row]:
    bodies = [
        msgspec.json.encode(request("eth_getBalance", f"0x{n + 1:040x}", "latest"))
        for n in range(BODIES)
    ]
    with load(bodies) as requests:
        for number in range(1, len(nodes) + 1):
            rates, costs = zip(
                *(_read_round(requests, nodes[:number]) for _ in range(ROUNDS)), strict=True
            )
            what = f"eth_getBalance, varied, by {number} of {len(nodes)} nodes at once"
            note = f"{1e6 / min(costs):,.0f} a CPU-second"
            yield Row(what=what, value=max(rates), unit="/s", note=note)


def _read_round(requests: Load, nodes: Sequence[ClusterNodeProcess]) -> tuple[float, float]:
    """Return requests a second of all nodes together, and the CPU time of one in microseconds."""
    before = sum(cpu_seconds(node.pid) for node in nodes)
    with ThreadPoolExecutor(len(nodes)) as threads:
        samples = list(threads.map(lambda it: requests.put_on(it.url), nodes))
    cpu = sum(cpu_seconds(node.pid) for node in nodes) - before
    return sum(sample.rate for sample in samples), cpu / sum(
        sample.requests for sample in samples
    ) * 1e6


def _catch_up_rows(
    cluster: ClusterProcesses, producer: ClusterNodeProcess, nonces: Iterator[int], folder: Path
) -> Iterator[Row]:
    bodies = [
        msgspec.json.encode(batch) for batch in batched(_transfers(nonces, FILLED), FILL_BATCH)
    ]
    with closing(HttpRpcClient(producer.url)) as client:
        # Over one connection, since batches of one account must arrive in order.
        seconds_of(client, bodies, 1)
    seq, sent = producer.health()["seq"], ROUNDS * BATCHED + int(RATE * LAG_SECONDS) + FILLED
    from_log = _join(cluster, seq)
    applied, cpu = from_log.applying_seconds, from_log.cpu_seconds
    note = f"{seq} blocks in {applied:.1f} s, CPU {cpu / sent * 1e6:.0f} µs each"
    yield Row(
        what="a new replica, transfers from the log", value=sent / applied, unit="/s", note=note
    )
    copy = folder / node_name(len(cluster.nodes))
    began = time.perf_counter()
    done = run_entresol("backup", "--data-dir", str(producer.data_dir), str(copy))
    assert done.returncode == 0, done.stderr
    copied = time.perf_counter() - began
    size = sum(file.stat().st_size for file in copy.rglob("*") if file.is_file()) / 2**20
    yield Row(what="entresol backup", value=copied, unit="s", note=f"{size:.1f} MiB, checked")
    for source, joined in (("the log", from_log), ("the copy", _join(cluster, seq))):
        what = f"a new replica, from its start until it has everything, from {source}"
        yield Row(what=what, value=joined.seconds, unit="s")


class Joined(NamedTuple):
    """How long a new node took until it had everything."""

    seconds: float
    applying_seconds: float
    """Of these, since it listened."""
    cpu_seconds: float


def _join(cluster: ClusterProcesses, seq: int) -> Joined:
    """Start a node, and wait until it has an entry."""
    began = time.perf_counter()
    node = cluster.add("--no-takeover", *QUIET)
    listening, before = time.perf_counter(), cpu_seconds(node.pid)
    eventually(lambda: node.health()["seq"] >= seq)
    now = time.perf_counter()
    return Joined(now - began, now - listening, cpu_seconds(node.pid) - before)
