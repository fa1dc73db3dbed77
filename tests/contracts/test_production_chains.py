"""Chains that are not for development: what L1 knows of them, and the times of their batches."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.contracts.batch_operator import Operator
from tests.support.contracts.batches import Batch
from tests.support.contracts.engine import NOW, Contract, Reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    DAY,
    DEPLOYER,
    FEE_PARAMS,
    OTHER_CHAIN_ID,
    PRODUCTION_LIMITS,
    Deployed,
    chain_settings,
)

MAX_AGE, MAX_LEAD = PRODUCTION_LIMITS


class Production(Operator):
    """The operator of a production chain."""

    def commit(self, batch: Batch | None = None, **fields: Any) -> Batch:
        """Commit to the next batch of it."""
        return super().commit(batch, chain_id=OTHER_CHAIN_ID, **fields)

    def last_times(self, count: int) -> list[int]:
        """Return the times that the contract knows of the first batches."""
        read = self.l1.engine.read
        return [read(self.chain, "getLastBlockTimestamp", number) for number in range(count)]


@pytest.fixture
def production(l1: Deployed) -> Production:
    return Production(l1, l1.add_chain(is_development=False), [l1.genesis])


def new_chain(l1: Deployed, **settings: Any) -> Contract:
    addresses = (l1.bridgehub, l1.manager, l1.timelock, l1.verifier, *l1.facets)
    made = chain_settings(*(address.address for address in addresses), **settings)
    return l1.engine.deploy("ZKChain", made, sender=DEPLOYER)


def times(first: int, last: int) -> dict[str, Any]:
    return {"first_timestamp": first, "last_timestamp": last}


def rejected(error: str) -> Any:
    return pytest.raises(Reverted, match=rf"^{error}\(")


# --- What L1 knows ---


@pytest.mark.parametrize("is_development", [True, False])
def test_l1_knows_whether_a_chain_is_for_development(l1: Deployed, is_development: bool) -> None:
    chain = new_chain(l1, is_development=is_development)
    assert l1.engine.read(chain, "isDevelopment") is is_development


def test_nothing_changes_whether_a_chain_is_for_development(production: Production) -> None:
    engine, chain = production.l1.engine, production.chain
    production.settle()
    production.commit(**times(NOW, NOW))
    production.revert(1)
    for function, *arguments in (
        ("changeFeeParams", FEE_PARAMS),
        ("setTokenMultiplier", 2, 1),
        ("setPriorityTxMaxGasLimit", 1),
        ("setValidator", ALICE, True),
        ("setPendingAdmin", ALICE),
    ):
        engine.send(DEPLOYER, chain, function, *arguments)
    engine.send(ALICE, chain, "acceptAdmin")
    assert engine.read(chain, "isDevelopment") is False
    assert engine.read(chain, "getClockLimits") == PRODUCTION_LIMITS
    named = [entry["name"].lower() for entry in chain.artifact.abi if entry["type"] == "function"]
    assert [it for it in named if "development" in it] == ["isdevelopment"]


@pytest.mark.parametrize(
    "limits", [(MAX_AGE + 1, MAX_LEAD), (MAX_AGE, MAX_LEAD + 1), (2**40, 2**40)]
)
def test_a_production_chain_has_no_wider_clock_limits(
    l1: Deployed, limits: tuple[int, int]
) -> None:
    with pytest.raises(Reverted) as rejection:
        new_chain(l1, is_development=False, clock_limits=limits)
    assert rejection.value.args == ("ClockLimitsTooWide", *limits)
    new_chain(l1, is_development=True, clock_limits=limits)


def test_a_production_chain_may_have_narrower_clock_limits(l1: Deployed) -> None:
    chain = new_chain(l1, is_development=False, clock_limits=(DAY, 60))
    assert l1.engine.read(chain, "getClockLimits") == (DAY, 60)


# --- Times of batches ---


def test_a_batch_at_a_clock_limit_is_committed(production: Production) -> None:
    production.commit(**times(NOW - MAX_AGE, NOW - MAX_AGE))
    production.commit(**times(NOW, NOW + MAX_LEAD))


@pytest.mark.parametrize(
    ("first", "last", "error"),
    [
        (NOW - MAX_AGE - 1, NOW, "TimestampTooOld"),
        (NOW, NOW + MAX_LEAD + 1, "L2TimestampTooBig"),
    ],
)
def test_a_batch_beyond_a_clock_limit_is_not_committed(
    production: Production, first: int, last: int, error: str
) -> None:
    with rejected(error):
        production.commit(**times(first, last))


def test_a_batch_may_begin_when_the_one_before_it_ends(production: Production) -> None:
    production.commit(**times(NOW - 20, NOW - 10))
    production.commit(**times(NOW - 10, NOW - 10))
    production.commit(**times(NOW - 9, NOW))


def test_times_do_not_fall_from_batch_to_batch(production: Production) -> None:
    production.commit(**times(NOW - 20, NOW - 10))
    with pytest.raises(Reverted) as rejection:
        production.commit(**times(NOW - 11, NOW))
    assert rejection.value.args == ("TimestampBeforeLastBatch", NOW - 11, NOW - 10)


def test_times_do_not_fall_below_an_executed_batch_either(production: Production) -> None:
    production.settle(**times(NOW - 20, NOW - 10))
    with rejected("TimestampBeforeLastBatch"):
        production.commit(**times(NOW - 11, NOW))


@pytest.mark.parametrize("kept", range(1, 6))
def test_after_a_revert_times_follow_those_of_the_batch_that_is_the_last_again(
    production: Production, kept: int
) -> None:
    for number in range(1, 10):
        production.commit(**times(NOW - 100 + 10 * number, NOW - 100 + 10 * number))
    production.revert(kept)
    last = NOW - 100 + 10 * kept
    with pytest.raises(Reverted) as rejection:
        production.commit(**times(last - 1, NOW))
    assert rejection.value.args == ("TimestampBeforeLastBatch", last - 1, last)
    production.commit(**times(last, last))
    with rejected("TimestampBeforeLastBatch"):
        production.commit(**times(last - 1, NOW))


def test_the_time_of_each_batch_is_known_until_it_is_reverted(production: Production) -> None:
    ends = [NOW - 100 + number for number in range(1, 10)]
    for end in ends:
        production.commit(**times(end, end))
    assert production.last_times(12) == [0, *ends, 0, 0]
    production.revert(6)
    assert production.last_times(10) == [0, *ends[:6], 0, 0, 0]


def test_developers_may_move_the_clock_of_a_development_chain_back(l1: Deployed) -> None:
    operator = Operator(l1, l1.chain, [l1.genesis])
    operator.commit(**times(NOW - 20, NOW - 10))
    operator.commit(**times(NOW - 100, NOW - 90))
    assert l1.engine.read(l1.chain, "getLastBlockTimestamp", 1) == 0
