"""Every read method over HTTP, with requests that vary, beside anvil where it has the method.

No response comes from a cache of the same question: a round sends each request once, and the node reverts a block
before it, which empties the cache of responses. `ENTRESOL_BENCH_METHODS` selects methods, separated by commas.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Final

import msgspec

from benchmarks.harness import Peer, Row, Target
from benchmarks.load import Sample, find_wrk, load
from benchmarks.read_chain import ReadChain, SettledChain, found, settled
from benchmarks.read_requests import ETH, ZKS, Beside, Read, bodies
from benchmarks.servers import Server, both, in_turns

ROUNDS: Final = int(os.environ.get("ENTRESOL_BENCH_ROUNDS", "5"))
_SELECTED: Final = os.environ.get("ENTRESOL_BENCH_METHODS", "")
_CHECKED: Final = 100
"""How many requests are checked to have a result."""


def rows() -> Iterable[Row]:
    """Measure the read methods of a node and of anvil in turns, and then those that only the node has."""
    try:
        find_wrk()
    except FileNotFoundError as error:
        print(f"no figures of requests: {error}", file=sys.stderr)
        return
    if reads := _selected(ETH):
        with both() as servers:
            chains = [found(server.client) for server in servers]
            for method, read in reads.items():
                yield _row(method, read, servers, chains)
    if reads := _selected(ZKS):
        with settled() as (server, chain):
            for method, read in reads.items():
                yield (
                    _row(method, read, [server], [chain])
                    if read.beside is None
                    else _beside(method, read, read.beside, server, chain)
                )


def _selected(reads: Mapping[str, Read]) -> dict[str, Read]:
    wanted = set(filter(None, _SELECTED.split(",")))
    return {name: it for name, it in reads.items() if not wanted or _method(name) in wanted}


def _method(name: str) -> str:
    """Return the method of a row; one that has several adds to its name."""
    return name.partition(",")[0]


def _row(
    name: str, read: Read, servers: Sequence[Server], chains: Sequence[ReadChain | SettledChain]
) -> Row:
    method = _method(name)
    requests = [list(bodies(method, read.params(chain))) for chain in chains]
    able = [at for at, it in enumerate(requests) if at == 0 or _has_method(servers[at], it[0])]
    with ExitStack() as stack:
        loads = [stack.enter_context(load(requests[at], once=True)) for at in able]

        def measure(at: int) -> Sample:
            if at == 0:
                _forget(servers[0])
            return servers[at].under(loads[at])

        for at in able:
            _check(servers[at], requests[at], fails=read.fails)
        samples = in_turns(measure, len(able), ROUNDS)
    what = f"{method}, {read.what}" if read.what else method
    return _figures(what, [Sample.least(sample) for sample in samples], read.ratio)


def _beside(name: str, read: Read, other: Beside, server: Server, chain: SettledChain) -> Row:
    """Measure a method in turns with another one of the same server."""
    method = _method(name)
    requests = [
        list(bodies(method, read.params(chain))),
        list(bodies(other.method, other.params(chain))),
    ]
    with ExitStack() as stack:
        loads = [stack.enter_context(load(request, once=True)) for request in requests]

        def measure(at: int) -> Sample:
            _forget(server)
            return server.under(loads[at])

        for request in requests:
            _check(server, request, fails=False)
        samples = in_turns(measure, len(loads), ROUNDS)
    ours, theirs = (Sample.least(sample) for sample in samples)
    return Row(
        what=method,
        value=1e6 / ours.cpu,
        unit="/CPU s",
        peer=Peer(other.method, 1e6 / theirs.cpu),
        target=Target(other.ratio * 1e6 / theirs.cpu, "at least"),
        note=f"{_details(ours)} ({other.method} {_details(theirs)})",
    )


def _figures(what: str, samples: Sequence[Sample], ratio: float) -> Row:
    """Return the rates by processor time, which other work on the machine changes less than requests a second."""
    ours = samples[0]
    if len(samples) == 1:
        return Row(what=what, value=1e6 / ours.cpu, unit="/CPU s", note=_details(ours))
    theirs = samples[1]
    return Row(
        what=what,
        value=1e6 / ours.cpu,
        unit="/CPU s",
        peer=Peer("anvil", 1e6 / theirs.cpu),
        target=Target(ratio * 1e6 / theirs.cpu, "at least"),
        note=f"{_details(ours)} (anvil {_details(theirs)}: {ours.rate / theirs.rate:.2f}x)",
    )


def _details(sample: Sample) -> str:
    return f"{sample.rate:,.0f}/s, {sample.details}"


def _has_method(server: Server, body: bytes) -> bool:
    """Say whether a server has a method that takes such parameters."""
    server.client.close()
    error = msgspec.json.decode(server.client.post_bytes(body)).get("error")
    return error is None or error["code"] not in {-32601, -32602}


def _check(server: Server, requests: Sequence[bytes], *, fails: bool) -> None:
    """Check that requests have a result at all, or an error if they fail."""
    # The connection may have been idle for as long as a server allows.
    server.client.close()
    for body in islice(requests, 0, None, max(len(requests) // _CHECKED, 1)):
        response = msgspec.json.decode(server.client.post_bytes(body))
        assert ("error" if fails else "result") in response, (server.name, body, response)


def _forget(server: Server) -> None:
    """Empty the cache of responses, by a block that is reverted."""
    server.client.close()
    snapshot = server.client("evm_snapshot")
    server.client("evm_mine")
    assert server.client("evm_revert", snapshot)
