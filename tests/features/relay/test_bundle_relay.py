"""The relay of bundles: what it executes, and what attackers cannot make it do."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import closing

import pytest

from entresol.errors import LayerOneFailed
from entresol.features.dev.reverts import Reverts
from entresol.primitives.interop_roots import ROOT_STORAGE
from entresol.rollup.work_queue import MAX_DELAY, MAX_TRIES
from tests.support.features.relay.relayed_chains import (
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
    assert (chains.relay.done, chains.sent, chains.relay.open) == (1, 1, 0)


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
    assert (chains.sent, chains.relay.done) == (1, 1)


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
def test_what_reverts_or_eats_all_gas_costs_nothing_and_is_executed_once_it_can_be(
    chains: RelayedChains, code: str
) -> None:
    chains.set_code(code)
    (bundle,) = chains.send()
    asyncio.run(steps(chains, MAX_TRIES))
    assert (chains.sent, chains.relay.failed, chains.relay.skipped) == (0, MAX_TRIES, 1)
    assert chains.relay.reason(bundle)
    chains.set_code(STOPS)
    asyncio.run(steps(chains))
    assert (chains.relay.done, chains.relay.reason(bundle)) == (1, None)


def test_what_changes_after_its_estimate_is_tried_ever_more_seldom(chains: RelayedChains) -> None:
    chains.set_code(SUCCEEDS_IN_EVEN_BLOCKS)
    chains.send()
    asyncio.run(steps(chains, 100))
    assert 0 < chains.sent < 20
    assert (chains.relay.done, chains.relay.skipped) == (0, 1)


def test_what_is_spent_for_one_sender_has_a_bound(
    chains: RelayedChains, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A transaction of the greatest size, and one bundle.
    monkeypatch.setattr("entresol.features.relay.dispatch.BUDGET_TRANSACTIONS", 1.01)
    bundles = chains.send(5)
    for _ in range(5):
        asyncio.run(chains.relay.step())
    spent = chains.sent
    assert 0 < spent < 5
    assert "1,010,000" in (chains.relay.reason(bundles[-1]) or "")
    chains.now += 3_600
    asyncio.run(steps(chains, 10))
    assert chains.sent > spent


def test_a_bundle_that_failed_and_waits_for_its_transaction_does_not_keep_the_relay_busy(
    chains: RelayedChains,
) -> None:
    chains.set_code(REVERTS)
    chains.send()
    asyncio.run(steps(chains, 1))
    chains.set_code(STOPS)
    chains.destination.schedule.seal_on_request()
    asyncio.run(chains.relay.step())
    chains.now += 100
    assert asyncio.run(chains.relay.step()) == math.inf


def test_a_bundle_that_failed_and_whose_root_is_gone_does_not_keep_the_relay_busy(
    chains: RelayedChains,
) -> None:
    chains.set_code(REVERTS)
    chains.send()
    asyncio.run(steps(chains, 1))
    chains.prover.is_settled = False
    assert asyncio.run(chains.relay.step()) == math.inf


def test_an_error_that_nobody_expects_belongs_to_its_bundle(chains: RelayedChains) -> None:
    (bad, good) = chains.send(2)
    chains.prover.next_errors = [KeyError("what")]
    asyncio.run(chains.relay.step())
    asyncio.run(chains.relay.step())
    assert chains.relay.done == 1
    assert chains.relay.reason(bad) == "unexpected KeyError: 'what'"
    assert chains.relay.reason(good) is None


def test_a_bundle_whose_books_l1_rejects_is_executed_once_they_are_settled(
    chains: RelayedChains,
) -> None:
    chains.prover.error = LayerOneFailed("not covered")
    (bundle,) = chains.send()
    asyncio.run(steps(chains, 2 * MAX_TRIES))
    assert (chains.relay.skipped, chains.relay.open) == (1, 1)
    assert chains.relay.reason(bundle) == "not covered"
    chains.prover.error = None
    chains.now += MAX_DELAY
    asyncio.run(steps(chains))
    assert chains.relay.done == 1


def test_an_account_without_funds_is_named_and_executes_once_it_has_some() -> None:
    with closing(RelayedChains(funds=1)) as chains:
        chains.send(2)
        asyncio.run(steps(chains, 10))
        assert chains.relay.open == 2
        assert chains.account.address.checksummed() in (chains.relay.problem or "")
        chains.fund(10**18)
        # No time passes, in which their pauses could end.
        for _ in range(2):
            asyncio.run(chains.relay.step())
        assert (chains.relay.done, chains.relay.problem) == (2, None)


def test_an_account_pays_for_what_it_can_though_not_for_the_greatest_transaction() -> None:
    # It may use 1,000,000 gas, and has enough for 100,000.
    with closing(RelayedChains(funds=100_000 * 2 * 10**9)) as chains:
        chains.send()
        asyncio.run(steps(chains))
        assert (chains.relay.done, chains.relay.problem) == (1, None)


def test_many_bundles_are_executed_some_at_a_time(chains: RelayedChains) -> None:
    chains.send(100)
    asyncio.run(steps(chains, 20))
    assert (chains.relay.done, chains.sent) == (100, 100)


def test_it_holds_so_many_and_reads_the_rest_later() -> None:
    with closing(RelayedChains(limit=10)) as chains:
        chains.prover.is_settled = False
        for _ in range(4):
            chains.send(7)
        asyncio.run(steps(chains, 4))
        assert chains.relay.open == 10
        chains.prover.is_settled = True
        asyncio.run(steps(chains, 10))
        assert (chains.relay.done, chains.sent, chains.relay.open) == (28, 28, 0)


def test_a_queue_full_of_what_fails_does_not_hold_up_what_comes_later() -> None:
    with closing(RelayedChains(limit=10)) as chains:
        chains.set_code(REVERTS)
        chains.send(10)
        asyncio.run(chains.relay.step())
        chains.set_code(STOPS)
        chains.send()
        # No time passes, in which some of them could be given up.
        for _ in range(3):
            asyncio.run(chains.relay.step())
        assert chains.relay.done == 1


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
    assert (chains.relay.done, chains.sent) == (1, 1)
    reverts.restore(checkpoint)
    assert chains.sent == 0
    asyncio.run(steps(chains))
    assert (chains.relay.done, chains.sent) == (2, 1)


def test_a_relay_that_starts_later_finds_only_what_is_open(chains: RelayedChains) -> None:
    done, _ = chains.send(2)
    chains.set_status(done, 2)
    asyncio.run(steps(chains))
    assert chains.relay.done == 1


def test_a_source_full_of_what_waits_does_not_hold_up_another() -> None:
    with closing(RelayedChains(limit=10)) as chains:
        chains.prover.is_settled = False
        chains.send(20)
        chains.send_from_another()
        asyncio.run(steps(chains))
        assert (chains.relay.done, chains.relay.open) == (1, 10)
