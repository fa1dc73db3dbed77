"""The engine and anvil agree on thousands of generated transactions."""

from __future__ import annotations

from collections import Counter

import pytest

from entresol._native import Account, BlockEnv, Overlay, execute
from entresol.errors import InvalidTransaction
from tests.support.differential.comparison import Peers, peers, rejects
from tests.support.differential.generator import blocks, kinds_of
from tests.support.differential.kinds.delegations import new_account
from tests.support.differential.kinds.rejections import rejections
from tests.support.differential.replay import CheckedState, Replay
from tests.support.differential.transactions import Draft, Signed
from tests.support.differential.world import ACTORS, RECURSE
from tests.support.hex_data import word
from tests.support.run.examples import tries_many

pytestmark = pytest.mark.peer

SEED = 20_260_101
ROUNDS = 32 if tries_many() else 8
BLOCK_SIZE = 45
BLOCKS_BETWEEN_DUMPS = 10
FORK_ROUNDS = 6 if tries_many() else 2
# What it takes to reach the depth limit, each call keeping a 64th of what is left.
DEEP_GAS = 3 * 10**11
NEW_AUTHORITY_REFUND = 12_500
# Anvil's pool takes these; it is only when it mines that it finds them invalid.
ONLY_LEFT_OUT = {"less than the floor price of data"}


def test_both_sides_agree_on_every_transaction_and_on_the_state_after_every_block() -> None:
    with peers("osaka", SEED) as both:
        agree(both, ROUNDS)
    count = Counter(signed.kind for mined in both.mined for signed in mined.transactions)
    assert count == dict.fromkeys(kinds_of(both.world), ROUNDS)
    assert count.total() >= 60 * ROUNDS


@pytest.mark.parametrize("fork", ["london", "paris", "shanghai", "cancun", "prague"])
def test_both_sides_agree_under_the_rules_of_earlier_forks(fork: str) -> None:
    with peers(fork, SEED) as both:
        agree(both, FORK_ROUNDS)


def test_both_sides_stop_at_the_same_depth() -> None:
    with peers("prague", SEED) as both:
        draft = Draft(to=RECURSE, data=word(2_000), gas=DEEP_GAS)
        (outcome,) = both.mine([both.world.sign("depth", draft)]).ran.results
    ((_, _, depth),) = outcome.logs
    assert int.from_bytes(depth, "big") == 1025


def agree(both: Peers, rounds: int) -> None:
    for transactions in blocks(both.world, rounds, BLOCK_SIZE):
        mined = both.mine(transactions)
        both.compare_touched(mined)
        both.compare_with_fresh_snapshot()
        if len(both.mined) % BLOCKS_BETWEEN_DUMPS == 0:
            both.compare_whole_state()
    both.compare_whole_state()


@pytest.mark.parametrize("fork", ["london", "shanghai", "prague", "osaka"])
def test_both_sides_reject_what_no_block_may_contain(fork: str) -> None:
    with peers(fork, SEED) as both:
        first = both.world.sign("first", Draft(to=ACTORS[1].address))
        env = both.mine([first]).ran.env
        rejected = rejections(both.world, first)
        accepted = [signed.kind for signed in rejected if not rejects(both.anvil, signed)]
        assert set(accepted) <= ONLY_LEFT_OUT
        assert both.mine([]).block["transactions"] == []
    overlay = Overlay(both.replay.snapshot)
    executed = [signed.kind for signed in rejected if executes(both, overlay, env, signed)]
    assert executed == []
    assert overlay.changes().accounts == []


def executes(both: Peers, overlay: Overlay, env: BlockEnv, signed: Signed) -> bool:
    try:
        execute(overlay, both.replay.rules, env, signed.message)
    except InvalidTransaction:
        return False
    return True


class EagerState(CheckedState):
    """Returns an empty account for an absent one."""

    def account(self, address: bytes, /) -> Account | None:
        return super().account(address) or Account()


def test_a_new_authority_is_cheaper_on_anvil_which_knows_no_absent_accounts() -> None:
    """Anvil's state returns an empty account for an absent one, which revm takes for existing.

    So it gives the refund that EIP-7702 has for accounts that exist. Over a state that does
    the same the engine agrees with anvil; over one that has no such account it does not refund.
    """
    with peers("osaka", SEED) as both:
        transactions = [both.world.sign("newcomer", new_account(both.world)) for _ in range(20)]
        truthful = Overlay(both.replay.snapshot)
        both.replay = Replay("osaka", EagerState(**vars(both.replay.state)))
        mined = both.mine(transactions)
        both.compare_touched(mined)
    for signed, outcome in zip(transactions, mined.ran.results, strict=True):
        alone = execute(truthful, both.replay.rules, mined.ran.env, signed.message)
        truthful.apply(alone)
        assert alone.gas_spent == outcome.gas_spent
        refund = min(NEW_AUTHORITY_REFUND, outcome.gas_spent // 5)
        assert (outcome.gas_refunded, alone.gas_refunded) == (refund, 0)
