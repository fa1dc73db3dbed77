from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

from benchmarks.read_chain import ReadChain, SettledChain
from benchmarks.read_requests import ETH, NOT_READS, REQUESTS, ZKS, bodies

RPC_PAGE = Path(__file__).resolve().parents[2] / "docs" / "rpc.md"
HASHES = [f"0x{number:064x}" for number in range(2_000)]
READ_CHAIN = ReadChain(2_000, HASHES, HASHES, HASHES[:64])
SETTLED_CHAIN = SettledChain(200, 50, HASHES, [(1, it[:42], it) for it in HASHES], HASHES)


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
