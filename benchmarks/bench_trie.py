"""The state trie through Python, with its nodes in a dictionary."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterable
from typing import Final

from benchmarks.harness import Row, Target
from entresol._native import EMPTY_ROOT, Trie

SIZES: Final = (1_000, 100_000, 1_000_000)
BATCH: Final = 500
ROUNDS: Final = 40


def rows() -> Iterable[Row]:
    """Measure states of several sizes."""
    for accounts in SIZES:
        yield from measure(accounts)


def measure(accounts: int) -> Iterable[Row]:
    """Load a state of `accounts` in one update, then change, prove and verify keys of it."""
    randomness = random.Random(7)
    nodes: dict[bytes, bytes] = {}
    trie = Trie(nodes.get)
    keys = [randomness.randbytes(32) for _ in range(accounts)]
    changes = [(key, account(randomness)) for key in keys]
    start = time.perf_counter()
    root, new = trie.update(EMPTY_ROOT, changes)
    loaded = time.perf_counter() - start
    nodes.update(new)
    updates = []
    for _ in range(ROUNDS):
        batch = [(randomness.choice(keys), account(randomness)) for _ in range(BATCH)]
        start = time.perf_counter()
        root, new = trie.update(root, batch)
        updates.append((time.perf_counter() - start) / BATCH)
        nodes.update(new)
    probes = [randomness.choice(keys) for _ in range(BATCH)]
    start = time.perf_counter()
    for key in probes:
        trie.prove(root, key)
    proved = (time.perf_counter() - start) / BATCH
    of = f"of {accounts:,} accounts"
    target = Target(35, "at most") if accounts == max(SIZES) else None
    # The median: a round is too short to be measured several times, and the next one differs.
    changed = statistics.median(updates) * 1e6
    yield Row(what=f"trie {of}: load a key", value=loaded / accounts * 1e6, unit="µs")
    yield Row(what=f"trie {of}: change a key", value=changed, unit="µs", target=target)
    yield Row(what=f"trie {of}: prove a key", value=proved * 1e6, unit="µs")


def account(randomness: random.Random) -> bytes:
    """Return bytes as long as an encoded account."""
    return randomness.randbytes(randomness.randint(70, 110))
