"""The relay of bundles: what it executes, and what attackers cannot make it do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from entresol.dev.reverts import Reverts
from entresol.errors import LayerOneFailed, RelayOutOfFunds
from entresol.primitives.interop.roots import ROOT_STORAGE
from entresol.rollup.relay.retries import MAX_TRIES
from tests.support.ecosystem.relayed_chains import (
    DESTINATION,
    EATS_GAS,
    L1,
    L1_BLOCK,
    REVERTS,
    STOPS,
    SUCCEEDS_IN_EVEN_BLOCKS,
    RelayedChains,
    slot,
)


@pytest.fixture
def chains() -> Iterator[RelayedChains]:
    """Return two chains with a relay between them."""
    opened = RelayedChains()
    yield opened
    opened.close()


async def steps(chains: RelayedChains, count: int = 2) -> None:
    """Let the relay take some steps, a long time apart."""
    for _ in range(count):
        await chains.relay.step()
        chains.now += 100


def test_a_bundle_is_executed_once(chains: RelayedChains) -> None:
    chains.send()
    asyncio.run(steps(chains, 4))
    assert (chains.relay.executed, chains.sent, chains.relay.open) == (1, 1, 0)


def test_it_waits_for_the_books_and_then_for_the_root(chains: RelayedChains) -> None:
    root = slot(0, L1, L1_BLOCK)
    chains.set_word(ROOT_STORAGE, root, 0)
    chains.prover.is_settled = False
    chains.send()
    asyncio.run(steps(chains))
    chains.prover.is_settled = True
    asyncio.run(steps(chains))
    assert (chains.sent, chains.relay.open) == (0, 1)
    chains.set_word(ROOT_STORAGE, root, 1)
    asyncio.run(steps(chains))
    assert (chains.sent, chains.relay.executed) == (1, 1)


def test_others_bundles_are_left_alone(chains: RelayedChains) -> None:
    chains.send(executor=b"\x01" * 20)
    chains.send(to=DESTINATION + 1)
    asyncio.run(steps(chains))
    assert (chains.sent, chains.relay.open) == (0, 0)


def test_what_somebody_else_has_executed_is_forgotten(chains: RelayedChains) -> None:
    chains.prover.is_settled = False
    (sent,) = chains.send()
    asyncio.run(steps(chains))
    chains.set_status(sent, 2)
    chains.prover.is_settled = True
    asyncio.run(steps(chains))
    assert (chains.sent, chains.relay.open, chains.relay.skipped) == (0, 0, 0)


@pytest.mark.parametrize("code", [REVERTS, EATS_GAS])
def test_what_reverts_or_eats_all_gas_costs_nothing_and_is_given_up(
    chains: RelayedChains, code: str
) -> None:
    chains.set_code(code)
    chains.send()
    asyncio.run(steps(chains, MAX_TRIES + 2))
    assert (chains.sent, chains.relay.failed, chains.relay.skipped) == (0, MAX_TRIES, 1)


def test_what_changes_after_its_estimate_costs_a_few_tries(chains: RelayedChains) -> None:
    chains.set_code(SUCCEEDS_IN_EVEN_BLOCKS)
    chains.send()
    asyncio.run(steps(chains, 2 * MAX_TRIES))
    assert 0 < chains.sent <= MAX_TRIES
    assert (chains.relay.executed, chains.relay.skipped) == (0, 1)


def test_one_that_fails_does_not_hold_up_the_next(chains: RelayedChains) -> None:
    chains.set_code(REVERTS)
    chains.send()
    asyncio.run(chains.relay.step())
    chains.set_code(STOPS)
    chains.send()
    asyncio.run(chains.relay.step())
    asyncio.run(chains.relay.step())
    assert (chains.relay.executed, chains.relay.open) == (1, 1)


def test_books_that_l1_rejects_are_tried_again_and_given_up(chains: RelayedChains) -> None:
    chains.prover.error = LayerOneFailed("not covered")
    chains.send()
    asyncio.run(steps(chains, MAX_TRIES))
    assert (chains.relay.skipped, chains.relay.open) == (1, 0)


def test_an_account_without_funds_gives_up_nothing_and_is_named() -> None:
    chains = RelayedChains(funds=1)
    try:
        chains.send()
        with pytest.raises(RelayOutOfFunds, match=chains.account.address.checksummed()):
            asyncio.run(chains.relay.step())
        assert (chains.relay.open, chains.relay.failed) == (1, 0)
    finally:
        chains.close()


def test_many_bundles_are_executed_some_at_a_time(chains: RelayedChains) -> None:
    chains.send(100)
    asyncio.run(steps(chains, 20))
    assert (chains.relay.executed, chains.sent) == (100, 100)


def test_it_holds_so_many_and_reads_the_rest_later() -> None:
    chains = RelayedChains(limit=10)
    try:
        chains.prover.is_settled = False
        for _ in range(4):
            chains.send(7)
        asyncio.run(steps(chains, 4))
        assert chains.relay.open == 10
        chains.prover.is_settled = True
        asyncio.run(steps(chains, 10))
        assert (chains.relay.executed, chains.sent, chains.relay.open) == (28, 28, 0)
    finally:
        chains.close()


def test_a_queue_full_of_what_fails_does_not_hold_up_what_comes_later() -> None:
    chains = RelayedChains(limit=10)
    try:
        chains.set_code(REVERTS)
        chains.send(10)
        asyncio.run(chains.relay.step())
        chains.set_code(STOPS)
        chains.send()
        # No time passes, in which some of them could be given up.
        for _ in range(3):
            asyncio.run(chains.relay.step())
        assert chains.relay.executed == 1
    finally:
        chains.close()


def test_bundles_of_reverted_blocks_are_forgotten(chains: RelayedChains) -> None:
    chains.prover.is_settled = False
    reverts = Reverts(chains.source)
    checkpoint = reverts.checkpoint()
    chains.send()
    asyncio.run(steps(chains))
    assert chains.relay.open == 1
    reverts.restore(checkpoint)
    assert chains.relay.open == 0


def test_what_was_executed_in_a_reverted_block_is_executed_again(chains: RelayedChains) -> None:
    chains.send()
    reverts = Reverts(chains.destination)
    checkpoint = reverts.checkpoint()
    asyncio.run(steps(chains))
    assert (chains.relay.executed, chains.sent) == (1, 1)
    reverts.restore(checkpoint)
    assert chains.sent == 0
    asyncio.run(steps(chains))
    assert (chains.relay.executed, chains.sent) == (2, 1)


def test_a_relay_that_starts_later_finds_only_what_is_open(chains: RelayedChains) -> None:
    done, _ = chains.send(2)
    chains.set_status(done, 2)
    asyncio.run(steps(chains))
    assert chains.relay.executed == 1
