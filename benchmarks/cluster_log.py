"""The canonical log alone: appending to it, and reading it, over one connection each."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from benchmarks.harness import Row
from entresol.features.cluster.postgres import tables
from entresol.features.cluster.postgres.lease import read_lease
from entresol.features.cluster.postgres.tables import read_page
from entresol.storage.log_entries import decode_entry
from entresol.storage.tables import START, LogPosition
from tests.support.cluster.postgres import EmptyCluster

APPENDS: Final = 1_000
READS: Final = 2_000


def log_rows(url: str, payload: bytes, what: str) -> Iterable[Row]:
    """Measure the log in an empty database, with an entry as others have it."""
    append, read = asyncio.run(_measure(EmptyCluster(url), payload))
    size = f"{len(payload):,} bytes"
    for name, seconds in (("append, synced", append), ("read, with the lease", read)):
        cuts = statistics.quantiles(seconds, n=100)
        note = f"{size}; p50 {cuts[49] * 1e3:.2f}, p99 {cuts[98] * 1e3:.2f} ms"
        rate = len(seconds) / sum(seconds)
        yield Row(what=f"log of PostgreSQL, {name}, {what}", value=rate, unit="/s", note=note)


async def _measure(cluster: EmptyCluster, payload: bytes) -> tuple[list[float], list[float]]:
    entry = decode_entry(payload)
    async with cluster.connected() as connection, cluster.connected() as other:
        await tables.create(connection)
        writer = await cluster.writer(connection)
        ends = [START]

        async def append() -> None:
            (position,) = await writer.write([entry], 0)
            ends.append(position)

        async def read() -> None:
            # As a follower does when it is woken by an entry.
            before = LogPosition(writer.end.seq - 1, ends[-2].digest)
            assert len(await read_page(other, before)) == 1
            await read_lease(other)

        return await _seconds(append, APPENDS), await _seconds(read, READS)


async def _seconds(work: Callable[[], Awaitable[None]], times: int) -> list[float]:
    found = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        found.append(time.perf_counter() - began)
    return found
