"""Sealing of batches: limits, contents, restarts and reverts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.errors import BatchOverflow
from entresol.l1.contracts import BatchTotals
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.transactions.priority import MAX_PRIORITY_TRANSACTIONS
from entresol.primitives.values import Hash32
from entresol.rollup import batches
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy, priority_hashes, priority_ops_of, stored_info_of
from entresol.rollup.message_tree import MessageTree
from entresol.rollup.priority_tree import Frontier, rolling_hash
from entresol.rollup.settlement.settler import Settler
from entresol.storage.batch_table import BatchPosition
from tests.support.contracts.merkle_trees import root_of_range
from tests.support.coroutines import completed
from tests.support.known import known
from tests.support.rollup.settling_chain import CHAIN_ID, SettlingChain
from tests.support.run.examples import examples

NEVER = SealingPolicy(max_age=1e9, max_blocks=10_000)


@pytest.fixture
def chain() -> Iterator[SettlingChain]:
    begun = SettlingChain.begin()
    yield begun
    begun.close()


def logs_of(chain: SettlingChain, batch: int) -> list[L2ToL1Log]:
    packed = chain.batches.logs(batch)
    return [L2ToL1Log.unpack(packed[at : at + 88]) for at in range(0, len(packed), 88)]


def test_the_genesis_block_is_batch_0(chain: SettlingChain) -> None:
    batcher = Batcher(chain.blocks, chain.batches)
    assert (batcher.last.number, batcher.last.first_block, batcher.last.last_block) == (0, 0, 0)
    assert chain.batches.position_of_block(0) == BatchPosition(0, 0)
    assert stored_info_of(batcher.last, CHAIN_ID).commitment == Hash32((1).to_bytes(32))


def test_an_idle_chain_has_no_batches(chain: SettlingChain) -> None:
    batcher = Batcher(chain.blocks, chain.batches, SealingPolicy(max_age=1))
    chain.builder.seal()
    chain.builder.seal()
    assert completed(batcher.step(0.0)) == []
    assert completed(batcher.step(1_000.0)) == []
    assert batcher.due_in(1_000.0) == math.inf


def test_a_batch_is_due_when_its_first_transaction_is_old_enough(chain: SettlingChain) -> None:
    batcher = Batcher(chain.blocks, chain.batches, SealingPolicy(max_age=2))
    chain.builder.seal()
    chain.seal_messages(1)
    assert completed(batcher.step(10.0)) == []
    assert batcher.due_in(10.5) == 1.5
    assert completed(batcher.step(11.9)) == []
    [batch] = completed(batcher.step(12.0))
    assert (batch.number, batch.first_block, batch.last_block) == (1, 1, 2)
    assert completed(batcher.step(1_000.0)) == []


class SettlementUpTo:
    """L1 has executed the batches up to one."""

    def __init__(self, executed: int) -> None:
        self.executed = executed
        self.wakes = 0

    @property
    def totals(self) -> BatchTotals:
        return BatchTotals(self.executed, self.executed, self.executed)

    def wake(self) -> None:
        self.wakes += 1


def test_a_deferred_batch_grows_until_it_is_full(chain: SettlingChain) -> None:
    settlement = SettlementUpTo(0)
    policy = SealingPolicy(max_age=2, max_blocks=3)
    batcher = Batcher(chain.blocks, chain.batches, policy, settlement=cast("Settler", settlement))
    chain.seal_messages(1)
    assert completed(batcher.step(10.0)) == []
    [first] = completed(batcher.step(12.0))
    assert settlement.wakes == 1
    chain.seal_messages(1)
    assert completed(batcher.step(20.0)) == []
    assert completed(batcher.step(30.0)) == []
    # It is checked again soon, but not at once.
    assert 0 < batcher.due_in(30.0) < 1
    chain.seal_messages(2)
    settlement.executed = 1
    [second] = completed(batcher.step(31.0))
    for number in range(3):
        chain.seal_messages(number)
    [third] = completed(batcher.step(32.0))
    assert [(it.first_block, it.last_block) for it in (first, second, third)] == [
        (1, 1),
        (2, 3),
        (4, 6),
    ]


@pytest.mark.parametrize(
    ("policy", "ranges"),
    [
        (SealingPolicy(max_age=1e9, max_blocks=2), [(1, 2), (3, 4)]),
        (SealingPolicy(max_age=1e9, max_transactions=3), [(1, 1), (2, 2), (3, 3), (4, 4)]),
        (SealingPolicy(max_age=1e9, max_transactions=4), [(1, 2), (3, 4)]),
        (SealingPolicy(max_age=1e9, max_logs=5), [(1, 2), (3, 4)]),
        (SealingPolicy(max_age=1e9, max_logs=6), [(1, 3)]),
    ],
)
def test_a_batch_is_full_by_blocks_transactions_or_logs(
    chain: SettlingChain, policy: SealingPolicy, ranges: list[tuple[int, int]]
) -> None:
    for number in range(5):
        chain.seal_messages(number, number)
    sealed = completed(Batcher(chain.blocks, chain.batches, policy).step(0.0))
    assert [(batch.first_block, batch.last_block) for batch in sealed] == ranges


def test_a_batch_is_sealed_on_request_even_without_transactions(chain: SettlingChain) -> None:
    batcher = Batcher(chain.blocks, chain.batches, NEVER)
    assert completed(batcher.seal(0.0)) is None
    chain.builder.seal()
    batch = known(completed(batcher.seal(0.0)))
    assert (batch.number, batch.transactions, batch.logs) == (1, 0, 0)
    assert batch.message_root == MessageTree([]).root


def test_the_logs_of_a_batch_have_the_transaction_index_in_the_block(chain: SettlingChain) -> None:
    batcher = Batcher(chain.blocks, chain.batches, NEVER)
    chain.transfer()
    chain.send_message(7)
    chain.builder.seal()
    deposited = chain.deposit()
    chain.send_message(8, times=2)
    chain.builder.seal()
    batch = known(completed(batcher.seal(0.0)))
    logs = logs_of(chain, 1)
    assert [(log.tx_number, int.from_bytes(log.value)) for log in logs] == [
        (1, 7),
        (0, 1),
        (1, 8),
        (1, 8),
    ]
    assert logs[1] == L2ToL1Log.of_status(0, deposited, succeeded=True)
    assert batch.message_root == MessageTree(log.leaf() for log in logs).root
    assert (batch.transactions, batch.l1_transactions, batch.logs) == (4, 1, 4)
    assert (batch.first_timestamp, batch.last_timestamp) == (1_000, 1_001)
    assert batch.state_root == chain.head.state_root
    places = [chain.batches.position_of_block(number) for number in (1, 2, 3)]
    assert places == [BatchPosition(1, 0), BatchPosition(1, 1), None]


def test_a_block_with_more_messages_than_leaves_is_rejected_with_its_number(
    chain: SettlingChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "CAPACITY", 3)
    batcher = Batcher(chain.blocks, chain.batches, SealingPolicy(max_logs=3))
    chain.send_message(1, times=4)
    chain.builder.seal()
    with pytest.raises(BatchOverflow, match="block 1 has 1 transaction and 4 messages"):
        completed(batcher.step(0.0))


@pytest.mark.parametrize("limits", [{"max_logs": 3}, {"max_transactions": 1}])
def test_a_block_that_exceeds_a_limit_gets_a_batch_of_its_own(
    chain: SettlingChain, limits: dict[str, int]
) -> None:
    batcher = Batcher(chain.blocks, chain.batches, SealingPolicy(max_age=1e9, **limits))
    chain.seal_messages(1)
    chain.seal_messages(1, 2, 3, 4)
    chain.seal_messages(1)
    completed(batcher.seal(0.0))
    stored = [chain.batches.get(number) for number in (1, 2, 3)]
    assert [batch and (batch.first_block, batch.logs) for batch in stored] == [
        (1, 1),
        (2, 4),
        (3, 1),
    ]


def test_the_deposits_of_a_batch_fit_into_one_l1_transaction(chain: SettlingChain) -> None:
    for _ in range(MAX_PRIORITY_TRANSACTIONS + 2):
        chain.deposit()
    while chain.filler.priority:
        chain.builder.seal()
    batcher = Batcher(chain.blocks, chain.batches, NEVER)
    completed(batcher.seal(0.0))
    stored = [chain.batches.get(number) for number in (1, 2)]
    assert [batch and batch.l1_transactions for batch in stored] == [MAX_PRIORITY_TRANSACTIONS, 2]


@pytest.mark.parametrize("limits", [{"max_logs": 16_385}, {"max_transactions": 65_536}])
def test_a_policy_above_the_limits_of_the_protocol_is_rejected(limits: dict[str, int]) -> None:
    with pytest.raises(BatchOverflow):
        SealingPolicy(**limits)


def test_batches_and_the_open_one_are_the_same_after_a_restart(tmp_path: Path) -> None:
    chain = SettlingChain.begin(tmp_path / "chain")
    batcher = Batcher(chain.blocks, chain.batches, NEVER)
    chain.deposit()
    chain.seal_messages(1, 2)
    sealed = completed(batcher.seal(0.0))
    chain.deposit()
    chain.seal_messages(3)
    completed(batcher.step(0.0))
    chain.close()

    chain = SettlingChain.begin(tmp_path / "chain")
    batcher = Batcher(chain.blocks, chain.batches, NEVER)
    assert batcher.last == sealed == chain.batches.get(1)
    assert [log.tx_number for log in logs_of(chain, 1)] == [0, 1, 2]
    after = known(completed(batcher.seal(0.0)))
    assert (after.number, after.first_block, after.last_block) == (2, 2, 2)
    assert (after.first_priority_id, after.l1_transactions, after.logs) == (1, 1, 2)
    chain.close()


def test_a_revert_removes_batches_with_reverted_blocks_and_batches_the_rest_again(
    chain: SettlingChain,
) -> None:
    batcher = Batcher(chain.blocks, chain.batches, SealingPolicy(max_age=1e9, max_blocks=2))
    for number in range(6):
        chain.seal_messages(number)
    assert [batch.number for batch in completed(batcher.step(0.0))] == [1, 2, 3]
    chain.batches.settle(
        [2, 3], SettlementStep.COMMIT, SettlementTransaction(Hash32(b"\1" * 32), 1, 1)
    )
    chain.history.rewind(3)
    assert batcher.last.number == 1
    assert chain.batches.get(2) is None
    assert chain.batches.logs(2) == b""
    assert chain.batches.position_of_block(3) is None
    assert chain.batches.settled(2, SettlementStep.COMMIT) is None
    chain.builder.seal()
    [batch] = completed(batcher.step(0.0))
    assert (batch.number, batch.first_block, batch.last_block) == (2, 3, 4)


@given(
    st.lists(
        st.sampled_from(["deposit", "message", "transfer", "seal", "batch", "step", "back"]),
        max_size=25,
    )
)
@settings(max_examples=examples(25))
def test_batches_cover_all_blocks_without_gaps_after_any_actions(actions: list[str]) -> None:
    chain = SettlingChain.begin()
    batcher = Batcher(
        chain.blocks, chain.batches, SealingPolicy(max_age=1e9, max_blocks=3, max_logs=4)
    )
    act: dict[str, Callable[[], object]] = {
        "deposit": lambda: chain.deposit() if len(chain.filler.priority) < 3 else None,
        "message": lambda: chain.send_message(5) if not len(chain.pool) else None,
        "transfer": chain.transfer,
        "seal": chain.builder.seal,
        "batch": lambda: completed(batcher.seal(0.0)),
        "step": lambda: completed(batcher.step(0.0)),
        "back": lambda: chain.history.rewind(max(0, chain.number - 2)),
    }
    with closing(chain):
        for action in actions:
            act[action]()
        completed(batcher.seal(0.0))
        assert_no_gaps(chain, batcher)


def assert_no_gaps(chain: SettlingChain, batcher: Batcher) -> None:
    frontier, next_block = Frontier(), 0
    for number in range(batcher.last.number + 1):
        batch = known(chain.batches.get(number))
        assert batch.first_block == next_block
        hashes = priority_hashes(chain.blocks, batch)
        assert (batch.first_priority_id, batch.priority_frontier) == (
            frontier.count,
            frontier.nodes,
        )
        assert batch.priority_hash == rolling_hash(hashes)
        frontier = frontier.extend(hashes)
        if hashes:
            proof = priority_ops_of(chain.blocks, batch)
            assert root_of_range(batch.first_priority_id, proof) == frontier.root()
        counted = sum(
            len(result.l2_to_l1_logs)
            for block in range(batch.first_block, batch.last_block + 1)
            for result in chain.blocks.record(block).results
        )
        assert counted == batch.logs == len(logs_of(chain, number))
        next_block = batch.last_block + 1
    assert next_block == chain.number + 1
