"""A node in use: what a block of one transaction adds in memory, until the caches are full, and on disk, by table."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from benchmarks.harness import Row, Target
from entresol.features.explorer.account_index import CALLED, HELD, HOLDER, AccountIndex
from entresol.primitives.values import Address
from entresol.storage import tables
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import open_chain

BLOCKS: Final = int(os.environ.get("ENTRESOL_BENCH_USED_BLOCKS", "60000"))
"""Caches are full after some 17,000 that clients have read, and what RocksDB buffers after some 54,000."""
STEP: Final = BLOCKS // 20
RECEIVERS: Final = 50
LATEST: Final = ("latest", True)
TABLES: Final = {
    prefix: name
    for name, prefix in vars(tables).items()
    if isinstance(prefix, bytes) and name.isupper() and len(prefix) == 1 and prefix != tables.META
} | {HOLDER: "HOLDER", HELD: "HELD", CALLED: "CALLED"}


def rows() -> Iterable[Row]:
    """Use a node for so many blocks, each of which a client reads as wallets and indexers do."""
    directory = Path(tempfile.mkdtemp(prefix="entresol-bench-"))
    chain = open_chain(directory / "chain")
    client = ApiClient(chain)
    try:
        chain.ledger.store.keep_indexes([AccountIndex()])
        use(client, 0, STEP)
        before, memory = table_bytes(client), [resident_bytes()]
        for start in range(STEP, BLOCKS, STEP):
            use(client, start, start + STEP)
            memory.append(resident_bytes())
        after = table_bytes(client)
        yield from memory_rows(memory)
        cached = sum(use.used for use in client.api.memory())
        yield Row(what="caches at the end", value=cached / 2**20, unit="MiB")
        for name, size in (after - before).most_common():
            value = size / (BLOCKS - STEP)
            yield Row(what=f"on disk, before compression: {name}", value=value, unit="bytes/block")
    finally:
        client.api.close()
        chain.close()
        shutil.rmtree(directory)


def use(client: ApiClient, start: int, end: int) -> None:
    """Seal blocks of one transfer, and read each of them."""
    for nonce in range(start, end):
        receipt = send(client, nonce, to=Address((nonce % RECEIVERS + 1).to_bytes(20)))
        client("eth_getTransactionReceipt", receipt)
        client("eth_getBlockByNumber", *LATEST)
        client("eth_getLogs", {"fromBlock": "latest"})


def memory_rows(memory: list[int]) -> Iterable[Row]:
    """Compare the first blocks with the last ones, for which nothing is free in the caches."""
    first, last = memory[1] - memory[0], memory[-1] - memory[-2]
    of = "memory, a block that clients read"
    yield Row(what=f"{of}: at first", value=first / STEP, unit="bytes/block")
    target = Target(1_500, "at most")
    yield Row(what=f"{of}: with full caches", value=last / STEP, unit="bytes/block", target=target)
    yield Row(what="memory at the end", value=memory[-1] / 2**20, unit="MiB")


def resident_bytes() -> int:
    """Return the memory of this process."""
    gc.collect()
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def table_bytes(client: ApiClient) -> Counter[str]:
    """Return the bytes of keys and values of each table."""
    db = client.chain.ledger.store._db  # noqa: SLF001 - what is measured
    sizes = Counter[str]()
    for prefix, name in TABLES.items():
        sizes[name] = sum(len(key) + len(row) for key, row in db.scan(prefix))
    return sizes
