"""Which blocks of two chains were last at the same time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.dev.node_chains import NodeHeads
from entresol.dev.reverts import Reverts
from tests.support.chain.dev_chain import open_chain


@pytest.fixture
def chains() -> Iterator[tuple[Chain, Chain]]:
    opened = open_chain(), open_chain()
    yield opened
    for chain in opened:
        chain.close()


def test_the_last_moment_of_a_block_is_found_from_either_chain(chains: tuple[Chain, Chain]) -> None:
    first, second = chains
    journal = NodeHeads(chains)
    for chain in (first, second, second, first, second):
        chain.builder.seal()
    assert [journal.at(first, number) for number in range(3)] == [(0, 0), (1, 2), (2, 3)]
    assert [journal.at(second, number) for number in range(4)] == [(1, 0), (1, 1), (2, 2), (2, 3)]
    assert journal.at(second, 4) is None


def test_what_was_reverted_is_forgotten(chains: tuple[Chain, Chain]) -> None:
    first, second = chains
    journal = NodeHeads(chains)
    for chain in (first, second, first, second):
        chain.builder.seal()
    Reverts(second).plan_roll_back(1).apply()
    Reverts(first).plan_roll_back(1).apply()
    second.builder.seal()
    assert journal.at(second, 1) == (1, 1)
    assert journal.at(second, 2) == (1, 2)
    assert journal.at(first, 2) is None


def test_what_came_before_the_start_is_not_known(chains: tuple[Chain, Chain]) -> None:
    first, _ = chains
    first.builder.seal()
    first.builder.seal()
    journal = NodeHeads(chains)
    assert journal.at(first, 1) is None
    assert journal.at(first, 2) == (2, 0)


def test_the_oldest_are_dropped(chains: tuple[Chain, Chain]) -> None:
    first, _ = chains
    journal = NodeHeads(chains, max_cuts=4)
    for _ in range(6):
        first.builder.seal()
    assert journal.at(first, 0) is None
    assert journal.at(first, 6) == (6, 0)
