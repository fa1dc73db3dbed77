"""Forks beside `anvil --fork-url`, both behind a slow network: cold and warm reads, blocks, start and memory.

`ENTRESOL_BENCH_LATENCY` has the milliseconds before each response of the remote, `ENTRESOL_BENCH_SLOTS` how many slots a call reads.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, NamedTuple

from benchmarks.fork_remote import (
    FOLLOWER,
    READER,
    WRITER,
    Fork,
    arguments,
    commands,
    contract,
    forks,
    link,
    remote,
)
from benchmarks.harness import Peer, Row, Target
from benchmarks.process_life import Life, bytecode, life
from tests.support.anvil import Anvil, find_anvil
from tests.support.fork.proxy import faulty_proxy
from tests.support.fork.remote_anvil import ANVIL
from tests.support.hex_data import hexed, word
from tests.support.rpc_client import HttpRpcClient

LATENCY: Final = float(os.environ.get("ENTRESOL_BENCH_LATENCY", "50")) / 1_000
SLOTS: Final = int(os.environ.get("ENTRESOL_BENCH_SLOTS", "200"))
WRITTEN_SLOTS: Final = 20
BLOCKS: Final = 1_000
ROUNDS: Final = 3
WARM_ROUNDS: Final = 200
STARTS: Final = 5
MANY_SLOTS: Final = 100_000
SLOTS_A_CALL: Final = 1_000
MANY_MEBIBYTES: Final = 100
"""How much a fork may grow by so many slots."""
INDEPENDENT_RATIO: Final = 0.1

READ, FOLLOW, WRITE = range(3)
GAS: Final = hex(5_000_000)


class Sample(NamedTuple):
    """The seconds that something took, and how many requests it needed of the remote, in how many HTTP requests."""

    seconds: float
    requests: int
    posts: int


def rows() -> Iterable[Row]:
    """Measure forks of one remote in turns."""
    with remote((READER, FOLLOWER, WRITER), ROUNDS, SLOTS) as node:
        with forks(node, LATENCY) as both:
            yield from _calls(both)
            what = f"transaction that writes {WRITTEN_SLOTS} slots, cold, until mined"
            yield _row(what, [_best_of(node, _send) for node in both])
            what = f"anvil_mine({BLOCKS:,})"
            yield _row(what, [_sample(node, _mine) for node in both])
        yield from _starts(node)
        yield from _memory(node)


def _calls(both: tuple[Fork, Fork]) -> Iterable[Row]:
    for kind, what, ratio in (
        (READ, f"eth_call of {SLOTS} independent slots", INDEPENDENT_RATIO),
        (FOLLOW, f"eth_call of a chain of {SLOTS} slots", 1.0),
    ):
        cold = [_best_of(fork, partial(_read, kind)) for fork in both]
        yield _row(f"{what}, cold", cold, ratio)
        warm = [_warm(fork, kind) for fork in both]
        yield _row(f"{what}, warm", warm)


def _best_of(fork: Fork, work: Callable[[int, HttpRpcClient], object]) -> Sample:
    """Return the best of rounds, each with a contract that was not touched before."""
    return min(_sample(fork, partial(work, n)) for n in range(ROUNDS))


def _sample(fork: Fork, work: Callable[[HttpRpcClient], object]) -> Sample:
    start = time.perf_counter()
    _, requests, posts = fork.asked(work)
    return Sample(time.perf_counter() - start, requests, posts)


def _warm(fork: Fork, kind: int) -> Sample:
    return min(_sample(fork, partial(_read, kind, 0)) for _ in range(WARM_ROUNDS))


def _read(kind: int, number: int, client: HttpRpcClient) -> None:
    call = {"to": contract(kind, number), "data": arguments(0, SLOTS), "gas": GAS}
    found = client("eth_call", call, "latest")
    # Of the slots from 0 on only the first is a link of the chain.
    assert found == hexed(word(link(SLOTS if kind == FOLLOW else 1))), found


def _send(number: int, client: HttpRpcClient) -> None:
    (sender, *_) = client("eth_accounts")
    data = arguments(0, WRITTEN_SLOTS)
    sent = {"from": sender, "to": contract(WRITE, number), "data": data, "gas": GAS}
    assert client.receipt(client("eth_sendTransaction", sent))["status"] == "0x1"


def _mine(client: HttpRpcClient) -> None:
    client("anvil_mine", hex(BLOCKS))


def _starts(node: Anvil) -> Iterable[Row]:
    """Measure the start of forks, and of the node without one."""
    lives: list[list[Life]] = [[], [], []]
    posts = [0, 0, 0]
    with faulty_proxy(node.url) as proxy, bytecode() as cached:
        proxy.latency = LATENCY
        for _ in range(STARTS):
            with tempfile.TemporaryDirectory() as folder:
                ours, theirs = commands(proxy.url, folder)
                for at, command in enumerate(
                    ([*ANVIL, *ours], [str(find_anvil()), *theirs], list(ANVIL))
                ):
                    proxy.forget()
                    lives[at].append(life([*command, "--port", "0"], cached))
                    posts[at] = proxy.posts
    fork, peer, plain = map(Life.best, lives)
    yield Row(
        what="start of a fork to its first response",
        value=fork.start * 1e3,
        unit="ms",
        peer=Peer("anvil", peer.start * 1e3),
        target=Target(peer.start * 1e3, "at most"),
        note=f"{posts[0]} HTTP requests (anvil {posts[1]}); {plain.start * 1e3:.0f} ms without a fork",
    )


def _memory(node: Anvil) -> Iterable[Row]:
    """Measure what many slots leave in memory; the network is not slow, since anvil reads them one by one."""
    with forks(node, 0.0, is_direct=True) as both:
        ours, theirs = (_grown(node) for node in both)
    yield Row(
        what=f"memory of {MANY_SLOTS:,} slots",
        value=ours[0],
        unit="MiB",
        peer=Peer("anvil", theirs[0]),
        target=Target(MANY_MEBIBYTES, "at most"),
        note=f"{ours[1]:.1f} s to read them (anvil {theirs[1]:.1f})",
    )


def _grown(fork: Fork) -> tuple[float, float]:
    client = fork.server.client
    client("eth_call", _many(0), "latest")
    before, start = fork.server.resident_bytes(), time.perf_counter()
    for first in range(SLOTS_A_CALL, SLOTS_A_CALL + MANY_SLOTS, SLOTS_A_CALL):
        client("eth_call", _many(first), "latest")
    return (fork.server.resident_bytes() - before) / (1 << 20), time.perf_counter() - start


def _many(first: int) -> dict[str, Any]:
    return {"to": contract(READ, 0), "data": arguments(first, SLOTS_A_CALL), "gas": GAS}


def _row(what: str, samples: list[Sample], ratio: float = 1.0) -> Row:
    ours, theirs = samples
    return Row(
        what=what,
        value=ours.seconds * 1e3,
        unit="ms",
        peer=Peer("anvil", theirs.seconds * 1e3),
        target=Target(theirs.seconds * 1e3 * ratio, "at most"),
        note=f"{ours.requests} requests in {ours.posts} (anvil {theirs.posts})",
    )
