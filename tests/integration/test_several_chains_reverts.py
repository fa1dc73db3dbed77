"""Snapshots, reverts, rollbacks and state files over three L2s and their L1, with batches in flight."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.ecosystem.several_chains import (
    SeveralChains,
    several_chains,
    several_config,
)
from tests.support.polling import eventually

ALL = range(3)
DAY = 86_400


@pytest.fixture
def chains() -> Iterator[SeveralChains]:
    with several_chains(several_config(3)) as chains:
        yield chains


def numbers(chains: SeveralChains) -> list[int]:
    """Return the numbers of all heads, L1 first."""
    clients = [chains.pairs[0].l1, *(pair.l2 for pair in chains.pairs)]
    return [int(client("eth_blockNumber"), 16) for client in clients]


def in_flight(chains: SeveralChains) -> None:
    """Have a batch of each L2 in the pool of L1."""
    l1 = chains.pairs[0].l1
    l1("evm_setAutomine", False)
    for index in ALL:
        pair = chains.pairs[index]
        pair.l2.receipt(pair.send_message(b"in flight"))
    eventually(lambda: int(l1("txpool_status")["pending"], 16) == len(ALL))


def all_settle(chains: SeveralChains) -> None:
    l1 = chains.pairs[0].l1
    l1("evm_mine")
    l1("evm_setAutomine", True)
    for index in ALL:
        chains.goes_on(index)


def test_a_revert_takes_all_chains_back_and_batches_in_flight_are_settled_again(
    chains: SeveralChains,
) -> None:
    chains.goes_on(1)
    chains.quiet()
    before = numbers(chains)
    snapshot = chains.pairs[2].l2("evm_snapshot")
    in_flight(chains)
    assert chains.pairs[0].l2("evm_revert", snapshot) is True
    assert numbers(chains) == before
    all_settle(chains)


def test_a_revert_to_batches_in_flight_settles_them(chains: SeveralChains) -> None:
    in_flight(chains)
    snapshot = chains.pairs[0].l1("evm_snapshot")
    before = numbers(chains)
    chains.pairs[0].l1("evm_mine")
    for index in ALL:
        pair = chains.pairs[index]
        pair.l2.receipt(pair.send_message(b"later"))
    assert chains.pairs[1].l2("evm_revert", snapshot) is True
    assert numbers(chains) == before
    all_settle(chains)


def test_a_dump_with_batches_in_flight_is_loaded_and_they_are_settled(
    chains: SeveralChains,
) -> None:
    in_flight(chains)
    state = chains.pairs[1].l2("anvil_dumpState")
    before = numbers(chains)
    all_settle(chains)
    # Whatever is loaded is settled at once.
    chains.pairs[0].l1("evm_setAutomine", False)
    chains.pairs[1].l2("anvil_loadState", state)
    assert numbers(chains) == before
    all_settle(chains)


def test_a_restart_settles_batches_that_were_in_flight(tmp_path: Path) -> None:
    config = several_config(3, tmp_path / "chains")
    with several_chains(config) as chains:
        in_flight(chains)
        before = numbers(chains)
    with several_chains(config) as chains:
        assert numbers(chains)[1:] == before[1:]
        all_settle(chains)


def test_a_rollback_of_one_l2_leaves_the_others_as_they_are() -> None:
    with several_chains(several_config(3, settle=False)) as chains:
        for index in (*ALL, 1):
            chains.pairs[index].arrived(chains.pairs[index].deposit())
        before = numbers(chains)
        pair = chains.pairs[1]
        pair.l2("anvil_rollback", 2)
        # Its deposits are still on L1, and are executed again.
        eventually(lambda: int(pair.l2("eth_blockNumber"), 16) > 0)
        after = numbers(chains)
        assert after[0] == before[0]
        assert (after[1], after[3]) == (before[1], before[3])


def test_a_rollback_over_a_batch_takes_l1_back_and_the_others_to_before_later_deposits(
    chains: SeveralChains,
) -> None:
    first, second, third = chains.pairs
    second.l2.receipt(second.send_message(b"first"))
    chains.settled(1)
    second.l2.receipt(second.send_message(b"second"))
    chains.settled(1)
    first.l2.receipt(first.send_message(b"no deposit"))
    third.arrived(third.deposit())
    chains.quiet()
    before = numbers(chains)
    second.l2("anvil_rollback", before[2] - 1)
    after = numbers(chains)
    assert after[0] < before[0]
    # The second batch is gone, and with it its root, which the others had imported.
    assert after[2] == 1
    assert (after[1], after[3]) < (before[1], before[3])
    for index in ALL:
        chains.goes_on(index)


@pytest.mark.parametrize("index", ALL)
def test_a_batch_in_flight_of_blocks_that_are_rolled_back_never_arrives(
    chains: SeveralChains, index: int
) -> None:
    chains.goes_on(index)
    in_flight(chains)
    pair = chains.pairs[index]
    committed: Any = pair.call_l1(pair.chain, "getTotalBatchesCommitted")
    pair.l2("anvil_rollback", 1)
    pair.l1("evm_mine")
    assert pair.call_l1(pair.chain, "getTotalBatchesCommitted") == committed
    all_settle(chains)


def test_time_that_is_set_for_one_chain_is_that_of_all_and_what_it_seals_settles(
    chains: SeveralChains,
) -> None:
    clients = [chains.pairs[0].l1, *(pair.l2 for pair in chains.pairs)]
    for moved in clients:
        latest = max(
            int(client("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
            for client in clients
        )
        moved("evm_setNextBlockTimestamp", latest + DAY)
        moved("evm_mine")
        for client in clients:
            client("evm_mine")
            header = client("eth_getBlockByNumber", "latest", False)
            assert int(header["timestamp"], 16) >= latest + DAY
    chains.pairs[1].l2("evm_increaseTime", DAY)
    for index in ALL:
        chains.goes_on(index)
