from __future__ import annotations

import json
import os
import re
import time
from itertools import chain, islice
from pathlib import Path
from threading import Thread

import pytest

from benchmarks.harness import Target
from benchmarks.processor_time import cpu_seconds
from benchmarks.read_chain import ReadChain, SettledChain
from benchmarks.read_requests import ETH, NOT_READS, REQUESTS, ZKS, bodies

RPC_PAGE = Path(__file__).resolve().parents[2] / "docs" / "rpc.md"
HASHES = [f"0x{number:064x}" for number in range(2_000)]
READ_CHAIN = ReadChain(2_000, HASHES, HASHES, HASHES[:64])
SETTLED_CHAIN = SettledChain(200, 50, HASHES, [(1, it[:42], it) for it in HASHES], HASHES)


@pytest.mark.parametrize(
    ("target", "value", "held"),
    [
        (Target(10, "at most"), 10, True),
        (Target(10, "at most"), 10.1, False),
        (Target(10, "at least"), 10, True),
        (Target(10, "at least"), 9.9, False),
    ],
)
def test_a_bound_belongs_to_its_target(target: Target, value: float, held: bool) -> None:
    assert target.held_by(value) is held


def test_the_processor_time_of_threads_that_have_ended_counts() -> None:
    until = time.process_time() + 0.02

    def compute() -> None:
        while time.process_time() < until:
            pass

    thread = Thread(target=compute)
    thread.start()
    thread.join()
    assert cpu_seconds(os.getpid()) >= until


def test_every_read_method_has_a_row() -> None:
    declared = re.findall(r"^\| `((?:eth|zks)_\w+)\(", RPC_PAGE.read_text(), re.MULTILINE)
    rows = {name.partition(",")[0] for name in chain(ETH, ZKS)}
    assert rows | set(chain.from_iterable(NOT_READS.values())) == set(declared)
    assert rows.isdisjoint(chain.from_iterable(NOT_READS.values()))


@pytest.mark.parametrize("name", ETH | ZKS)
def test_no_two_requests_of_a_row_are_the_same(name: str) -> None:
    read = (ETH | ZKS)[name]
    made = bodies("m", read.params(READ_CHAIN if name in ETH else SETTLED_CHAIN))
    params = [body.partition(b'"params":')[2] for body in made]
    assert len(params) == REQUESTS >= 10_000
    assert len(set(params)) == (1 if params[0] == b"[]}" else REQUESTS)


@pytest.mark.parametrize(
    "name", ["eth_call", "eth_estimateGas", "eth_feeHistory", "eth_getBalance", "eth_getStorageAt"]
)
def test_the_parameters_of_a_state_read_are_all_different(name: str) -> None:
    params = islice(ETH[name].params(READ_CHAIN), REQUESTS)
    assert len({json.dumps(param) for param in params}) == REQUESTS
