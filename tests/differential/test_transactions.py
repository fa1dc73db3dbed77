"""The engine and anvil agree on thousands of generated transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from entresol._native import Overlay, execute
from entresol.errors import InvalidTransaction
from tests.differential.comparison import Peers, peers, refusals
from tests.differential.generator import blocks, kinds_of, rejections

pytestmark = pytest.mark.peer

SEED = 20_260_101
ROUNDS = 32
BLOCK_SIZE = 45
BLOCKS_BETWEEN_DUMPS = 10


@pytest.fixture(scope="module")
def osaka() -> Iterator[Peers]:
    with peers("osaka", SEED) as both:
        yield both


def test_both_sides_agree_on_every_transaction_and_on_the_state_after_every_block(
    osaka: Peers,
) -> None:
    for transactions in blocks(osaka.world, ROUNDS, BLOCK_SIZE):
        mined = osaka.mine(transactions)
        osaka.compare_touched(mined)
        osaka.compare_with_fresh_snapshot()
        if len(osaka.mined) % BLOCKS_BETWEEN_DUMPS == 0:
            osaka.compare_whole_state()
    osaka.compare_whole_state()
    count = Counter(signed.kind for mined in osaka.mined for signed in mined.transactions)
    assert count == dict.fromkeys(kinds_of(osaka.world), ROUNDS)
    assert count.total() >= 2_000
