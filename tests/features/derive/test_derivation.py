"""A chain that is derived from an L1: its batches, and what reorgs, reverts, lies and interruptions do to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from entresol._native import Snapshot, call
from entresol.errors import (
    DerivationAlarm,
    ExecutionStopped,
    LayerOneMismatch,
    LayerOneUnreachable,
    SnapshotRejected,
)
from entresol.features.derive.derivation import MAX_FAILURES, StepReader, run_blocks
from entresol.features.derive.l1_events import BATCH_RANGE, BatchesVerified
from entresol.features.derive.snapshot import BatchSnapshot
from entresol.l1.availability.batch_data import BATCH_DATA, EventPosition
from entresol.l1.contracts import BATCH_COMMITTED, BATCHES_VERIFIED, NEW_PRIORITY_REQUEST
from entresol.l1.layer_one import L1Log, L1Receipt, LayerOne
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.publication.publication import publication_report
from entresol.storage import tables
from entresol.storage.derivation_table import DerivedPosition
from tests.support.evm.in_memory_state import BLOCK, RULES, InMemoryState, to_contract
from tests.support.features.derive.scripted_l1 import Scene, ScriptedLayerOne, scene
from tests.support.known import known

TRANSACTION = Hash32(b"\x77" * 32)


class OneTransaction(ScriptedLayerOne):
    """An L1 whose last block has the transaction."""

    async def receipt(self, transaction_hash: Hash32) -> L1Receipt | None:
        number = len(self.blocks) - 1
        return L1Receipt(
            transaction_hash=transaction_hash,
            block_number=number,
            block_hash=self.blocks[number][0],
            succeeded=True,
            gas_used=100 + number,
        )


async def test_a_transaction_that_a_reorg_has_moved_is_read_again() -> None:
    l1 = OneTransaction()
    reader = StepReader(cast("LayerOne", l1))

    def event() -> BatchesVerified:
        number = len(l1.blocks) - 1
        position = EventPosition(number, l1.blocks[number][0], 0)
        return BatchesVerified(position=position, transaction=TRANSACTION, before=0, last=1)

    first = l1.mine()
    found = await reader.step_of(event())
    assert (found.block, found.gas_used) == (first, 100 + first)
    assert await reader.step_of(event()) is found
    l1.reorg(first - 1)
    l1.mine()
    second = l1.mine()
    moved = await reader.step_of(event())
    assert moved == found._replace(block=second, timestamp=5_000 + second, gas_used=100 + second)


Before = Callable[[int], None]


def endless_transaction(before: Before) -> None:
    snapshot = Snapshot(InMemoryState.with_contract("5b 5f 56"))
    before(1)
    call(snapshot, RULES, BLOCK, to_contract(gas_limit=10**15))


def endless_blocks(before: Before) -> None:
    while True:
        before(1)


@pytest.mark.parametrize("work", [endless_transaction, endless_blocks])
async def test_what_would_take_for_ever_is_cancelled(work: Callable[[Before], None]) -> None:
    ended: list[BaseException] = []

    def noting(before: Before) -> None:
        try:
            work(before)
        except BaseException as error:
            ended.append(error)
            raise

    loop, began = asyncio.get_running_loop(), asyncio.Event()

    def show(_block: int) -> None:
        loop.call_soon_threadsafe(began.set)

    task = asyncio.create_task(run_blocks(noting, show))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # It is not left behind on its thread.
    assert [type(it) for it in ended] == [ExecutionStopped]


@pytest.fixture
def scened() -> Iterator[Scene]:
    with scene() as found:
        yield found


def settled(it: Scene, number: int, step: SettlementStep) -> SettlementTransaction | None:
    return it.chain.batches.settled(number, step)


def test_batches_are_derived_in_order_and_stored_with_their_position(scened: Scene) -> None:
    l1 = scened.l1
    l1.commit(1)
    block = l1.commit(2, blocks=3)
    derivation = scened.run()
    assert (derivation.last.number, scened.chain.number, derivation.derived) == (2, 5, 2)
    position = scened.chain.batches.derivation.at(2)
    assert position == DerivedPosition(block, l1.blocks[block][0], 2, block)
    assert scened.chain.batches.data(2) == b"batch 2 "


def test_every_step_of_settlement_is_recorded(scened: Scene) -> None:
    scened.l1.commit(1)
    scened.l1.commit(2)
    proven = scened.l1.verify(0, 2)
    executed = scened.l1.execute(1, 2)
    scened.run()
    for step, block in ((SettlementStep.PROVE, proven), (SettlementStep.EXECUTE, executed)):
        by = known(settled(scened, 2, step))
        assert (by.block, by.timestamp, by.gas_used) == (block, 5_000 + block, block)
        assert by.transaction == scened.l1.blocks[block][1][0].transaction_hash


def test_the_gas_of_a_step_is_unknown_if_l1_knows_only_later_transactions(scened: Scene) -> None:
    scened.l1.has_receipts = False
    scened.l1.settle(1)
    assert scened.run().last.number == 1
    by = known(settled(scened, 1, SettlementStep.COMMIT))
    assert by.gas_used is None


def test_a_second_start_goes_on_after_the_last_batch(scened: Scene) -> None:
    scened.l1.settle(1)
    scened.run()
    scened.l1.settle(2)
    scened.l1.requests.clear()
    assert scened.run().derived == 1
    position = known(scened.chain.batches.derivation.at(1))
    assert min(first for first, _ in scened.l1.requests) == position.block
    assert [claim.number for claim in scened.deriver.claims] == [1, 2]


def test_a_batch_counts_by_its_last_commit(scened: Scene) -> None:
    l1 = scened.l1
    l1.commit(1)
    l1.commit(2, salt=b"first")
    l1.commit(3, salt=b"first")
    l1.verify(0, 3)
    l1.revert(1)
    l1.commit(2, blocks=4, salt=b"second")
    proven = l1.verify(1, 2)
    scened.run()
    assert [claim.data for claim in scened.deriver.claims] == [b"batch 1 ", b"batch 2 second"]
    by = known(settled(scened, 2, SettlementStep.PROVE))
    assert by.block == proven
    assert scened.chain.number == 6


def test_a_revert_removes_batches_that_were_derived_before(scened: Scene) -> None:
    l1 = scened.l1
    l1.settle(1)
    l1.commit(2, salt=b"first")
    l1.commit(3, salt=b"first")
    scened.run()
    l1.revert(1)
    l1.commit(2, blocks=1, salt=b"second")
    derivation = scened.run()
    assert (derivation.reverted, derivation.derived) == (2, 1)
    assert (derivation.last.number, scened.chain.number) == (2, 3)
    assert scened.chain.batches.data(2) == b"batch 2 second"
    assert scened.chain.batches.derivation.at(3) is None


def test_a_batch_that_was_wrong_and_is_reverted_raises_no_alarm(scened: Scene) -> None:
    l1 = scened.l1
    l1.commit(1)
    l1.commit(2, salt=b"wrong")
    scened.deriver.wrong.add(b"batch 2 wrong")
    with pytest.raises(DerivationAlarm):
        scened.run()
    l1.revert(1)
    l1.commit(2, salt=b"right")
    table = scened.chain.batches.derivation
    assert table.alarm == "batch 2, state_root: 0x01 on L1, 0x02 here"
    assert scened.run().last.number == 2
    assert table.alarm is None


def test_a_batch_that_l1_has_executed_is_accepted_from_a_snapshot_and_named_until_it_is_removed(
    scened: Scene,
) -> None:
    l1 = scened.l1
    l1.settle(1)
    block = l1.commit(2)
    l1.verify(1, 2)
    l1.execute(2)
    l1.commit(3)
    scened.deriver.wrong.add(b"batch 2 ")
    snapshot = BatchSnapshot(scened.chain.ledger.store, 2)
    assert scened.run(scened.derivation_with(snapshot)).last.number == 3
    # Not at the first alarm, which a node that lags may have caused.
    assert [claim.number for claim in scened.deriver.claims] == [1, 2, 2, 2, 3]
    table = scened.chain.batches.derivation
    [accepted] = table.accepted()
    assert (accepted.number, accepted.first_block, accepted.last_block) == (2, 3, 4)
    assert "batch 2, state_root: 0x01 on L1, 0x02 here" in str(accepted)
    table.end()
    assert publication_report(scened.chain.batches)["derivation"] == str(accepted)
    l1.reorg(block - 1)
    l1.commit(2, salt=b"right")
    table.begin()
    scened.run()
    assert table.accepted() == []


def test_a_batch_that_l1_has_not_executed_is_not_accepted(scened: Scene) -> None:
    l1 = scened.l1
    l1.settle(1)
    l1.commit(2)
    l1.verify(1, 2)
    scened.deriver.wrong.add(b"batch 2 ")
    with pytest.raises(SnapshotRejected, match="the operator can still revert it"):
        scened.run(scened.derivation_with(BatchSnapshot(scened.chain.ledger.store, 2)))
    assert scened.chain.batches.derivation.accepted() == []


def test_another_batch_than_the_named_one_is_not_accepted(scened: Scene) -> None:
    scened.l1.settle(1)
    scened.l1.settle(2)
    scened.deriver.wrong.add(b"batch 1 ")
    with pytest.raises(DerivationAlarm, match="batch 1, state_root"):
        scened.run(scened.derivation_with(BatchSnapshot(scened.chain.ledger.store, 2)))


def test_an_alarm_is_raised_once_the_batch_was_read_twice_and_leaves_those_before_it(
    scened: Scene,
) -> None:
    scened.l1.commit(1)
    scened.l1.commit(2)
    scened.l1.commit(3)
    scened.deriver.wrong.add(b"batch 2 ")
    with pytest.raises(DerivationAlarm, match="batch 2, state_root: 0x01 on L1, 0x02 here"):
        scened.run()
    assert [claim.number for claim in scened.deriver.claims] == [1, 2, 2]
    assert scened.chain.batches.last() == scened.l1.batches[b"batch 1 "]
    assert scened.chain.number == 2


def test_a_derivation_ends_with_an_alarm_also_if_each_round_has_another(scened: Scene) -> None:
    scened.l1.commit(1)
    scened.deriver.wrong.add(b"batch 1 ")
    scened.deriver.alarms = (f"field {number}" for number in count(1))
    with pytest.raises(DerivationAlarm, match=f"field {MAX_FAILURES}: "):
        scened.run()
    assert "field 5: " in str(scened.chain.batches.derivation.alarm)


def test_progress_is_reported_within_a_batch(scened: Scene) -> None:
    scened.l1.commit(1, blocks=2)
    scened.l1.commit(2, blocks=3)
    scened.run()
    assert [(it.batch, it.block) for it in scened.reported][:7] == [
        *((0, 0), (0, 1), (1, 2)),
        *((1, 2), (1, 3), (1, 4), (2, 5)),
    ]


def test_a_batch_without_data_is_an_alarm(scened: Scene) -> None:
    scened.l1.commit(1)
    scened.l1.changed_logs = lambda logs: [log for log in logs if log.topics[0] != BATCH_DATA]
    with pytest.raises(DerivationAlarm, match="batch 1"):
        scened.run()


def test_a_reorg_goes_back_to_the_last_batch_that_l1_has(scened: Scene) -> None:
    l1 = scened.l1
    l1.settle(1)
    before = len(l1.blocks) - 1
    l1.commit(2, salt=b"first")
    l1.commit(3, salt=b"first")
    l1.commit(4, salt=b"first")
    scened.run()
    l1.reorg(before)
    l1.mine()
    l1.commit(2, blocks=1, salt=b"second")
    derivation = scened.run()
    assert (derivation.reverted, derivation.last.number, scened.chain.number) == (3, 2, 3)
    assert scened.chain.batches.data(2) == b"batch 2 second"
    assert settled(scened, 3, SettlementStep.COMMIT) is None


def test_a_reorg_that_only_moves_later_steps_records_them_where_they_are(scened: Scene) -> None:
    l1 = scened.l1
    committed = l1.commit(1)
    l1.verify(0, 1)
    l1.execute(1)
    l1.finalized = committed
    scened.run()
    l1.reorg(committed)
    l1.mine()
    proven = l1.verify(0, 1)
    assert scened.run().reverted == 0
    by = known(settled(scened, 1, SettlementStep.PROVE))
    assert (by.block, by.transaction) == (proven, l1.blocks[proven][1][0].transaction_hash)
    assert settled(scened, 1, SettlementStep.EXECUTE) is None


def test_a_batch_whose_execution_is_final_is_never_removed(scened: Scene) -> None:
    l1 = scened.l1
    l1.settle(1)
    l1.finalized = len(l1.blocks) - 1
    l1.settle(2)
    scened.run()
    assert scened.chain.batches.derivation.final_batch == 1
    l1.reorg(0)
    l1.commit(1, salt=b"other")
    with pytest.raises(LayerOneMismatch, match="does not have batch 1 any more"):
        scened.run()
    assert scened.chain.batches.last() == l1.batches[b"batch 2 "]


def test_without_a_final_block_what_is_deep_is_final(scened: Scene) -> None:
    l1 = scened.l1
    l1.finalized = None
    l1.settle(1)
    for _ in range(64):
        l1.mine()
    l1.settle(2)
    scened.run()
    assert scened.chain.batches.derivation.final_batch == 1


def test_a_batch_gets_the_deposits_that_l1_had_before_its_commit(scened: Scene) -> None:
    l1 = scened.l1
    l1.deposit(0, 1, 2)
    l1.commit(1, deposits=2)
    l1.deposit(3)
    l1.commit(2, deposits=2)
    scened.run()
    assert scened.deriver.deposits == [0, 1, 2, 3]


def test_a_batch_with_a_deposit_that_l1_had_only_after_its_commit_is_an_alarm(
    scened: Scene,
) -> None:
    batch = scened.l1.batch(1, deposits=1)
    scened.l1.mine(*scened.l1.commit_logs(batch))
    scened.l1.deposit(0)
    with pytest.raises(DerivationAlarm, match="deposits: 0 on L1"):
        scened.run()


def test_deposits_are_read_again_after_a_start_from_the_first_that_no_batch_has(
    scened: Scene,
) -> None:
    l1 = scened.l1
    first = l1.deposit(0, 1)
    l1.commit(1, deposits=1)
    l1.mine()
    scened.run()
    position = known(scened.chain.batches.derivation.at(1))
    assert position.deposits_from == first
    cursor = known(scened.chain.batches.deposit_cursor())
    assert (cursor.block, cursor.next_id) == (first - 1, 1)
    l1.commit(2, deposits=1)
    scened.run()
    assert scened.deriver.deposits == [0, 1]


def test_a_node_reads_deposits_on_from_the_head_if_all_are_in_batches(scened: Scene) -> None:
    scened.l1.deposit(0)
    scened.l1.commit(1, deposits=1)
    scened.run()
    cursor = known(scened.chain.batches.deposit_cursor())
    head = len(scened.l1.blocks) - 1
    assert cursor == (head, scened.l1.blocks[head][0], 1)


def lie_once(l1: ScriptedLayerOne, change: Callable[[list[L1Log]], list[L1Log]]) -> None:
    """Let the first response that `change` changes be a lie."""

    def lied(logs: list[L1Log]) -> list[L1Log]:
        found = change(logs)
        if found != logs:
            l1.changed_logs = lambda right: right
        return found

    l1.changed_logs = lied


def without(topic: Hash32, index: int = 0) -> Callable[[list[L1Log]], list[L1Log]]:
    """Return what removes one of the logs of an event."""

    def removed(logs: list[L1Log]) -> list[L1Log]:
        found = [log for log in logs if log.topics[0] == topic]
        return [log for log in logs if log is not (found[index] if index < len(found) else None)]

    return removed


LIES: dict[str, Callable[[list[L1Log]], list[L1Log]]] = {
    "out of order": lambda logs: logs[::-1] if len(logs) > 1 else logs,
    "twice": lambda logs: [it for log in logs for it in (log, log)],
    "of another contract": lambda logs: [
        msgspec.structs.replace(log, address=type(log.address)(b"\xdd" * 20)) for log in logs
    ],
    "of another block": lambda logs: [
        msgspec.structs.replace(log, block_number=log.block_number + 1_000) for log in logs
    ],
    "with another hash": lambda logs: [
        msgspec.structs.replace(log, block_hash=Hash32(b"\xee" * 32)) for log in logs
    ],
    "none": lambda _logs: [],
    "without a range": without(BATCH_RANGE),
    "without a commit": without(BATCH_COMMITTED),
    "without the last commit": without(BATCH_COMMITTED, 1),
    "without data": without(BATCH_DATA),
    "without a verification": without(BATCHES_VERIFIED),
    "without a deposit": without(NEW_PRIORITY_REQUEST),
    "without topics": lambda logs: [msgspec.structs.replace(log, topics=()) for log in logs],
    "without data of logs": lambda logs: [msgspec.structs.replace(log, data=b"") for log in logs],
    "with the highest numbers": lambda logs: [
        msgspec.structs.replace(log, topics=(log.topics[0], *(Hash32(b"\xff" * 32),) * 3))
        for log in logs
    ],
}


def eventful(l1: ScriptedLayerOne) -> None:
    l1.deposit(0, 1, 2)
    l1.settle(1, deposits=1)
    l1.commit(2, deposits=2, salt=b"first")
    l1.revert(1)
    l1.commit(2, deposits=1, blocks=3, salt=b"second")
    l1.deposit(3)
    l1.commit(3, deposits=2)
    l1.verify(1, 3)
    l1.execute(2, 3)


@pytest.mark.parametrize("lie", LIES)
def test_an_l1_that_lies_once_changes_nothing(lie: str) -> None:
    with scene() as right:
        eventful(right.l1)
        right.run()
        expected = right.state()
    with scene() as lied:
        eventful(lied.l1)
        lie_once(lied.l1, LIES[lie])
        lied.run()
        assert lied.state() == expected


@pytest.mark.parametrize("lie", [it for it in LIES if it != "without data"])
def test_an_l1_that_always_lies_ends_the_derivation_by_name(lie: str, scened: Scene) -> None:
    eventful(scened.l1)
    scened.l1.changed_logs = LIES[lie]
    with pytest.raises((LayerOneMismatch, DerivationAlarm)):
        scened.run()
    assert scened.slept <= 2 * MAX_FAILURES * 4


def test_an_l1_that_skips_a_deposit_is_named(scened: Scene) -> None:
    scened.l1.deposit(0, 1, 2)
    scened.l1.commit(1, deposits=3)
    scened.l1.changed_logs = without(NEW_PRIORITY_REQUEST, 1)
    with pytest.raises(LayerOneMismatch, match="deposit 1 is missing"):
        scened.run()


def test_an_l1_that_is_away_is_tried_again(scened: Scene) -> None:
    scened.l1.commit(1)
    left = MAX_FAILURES - 1

    def failing(logs: list[L1Log]) -> list[L1Log]:
        nonlocal left
        if left:
            left -= 1
            raise LayerOneUnreachable("http://l1", "connection refused")
        return logs

    scened.l1.changed_logs = failing
    assert scened.run().derived == 1
    assert scened.slept == MAX_FAILURES - 1


class Killed(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("is_reorged", [False, True], ids=["first time", "after a reorg"])
def test_a_derivation_that_is_killed_between_any_two_writes_ends_with_the_same_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_reorged: bool
) -> None:
    def prepared(l1: ScriptedLayerOne, path: Path) -> None:
        eventful(l1)
        if is_reorged:
            with scene(path, l1) as it:
                it.run()
            l1.reorg(4)
            l1.deposit(3)
            l1.commit(2, deposits=3, salt=b"third")
            l1.verify(1, 2)

    l1 = ScriptedLayerOne()
    prepared(l1, tmp_path / "whole")
    with scene(tmp_path / "whole", l1) as whole:
        count = counting(whole, monkeypatch)
        whole.run()
        monkeypatch.undo()
        expected, total = whole.state(), len(count)
    assert total > (3 if is_reorged else 12)
    for number in range(total):
        path, l1 = tmp_path / str(number), ScriptedLayerOne()
        prepared(l1, path)
        with scene(path, l1) as it:
            counting(it, monkeypatch, number)
            with pytest.raises(Killed):
                it.run()
            monkeypatch.undo()
        with scene(path, l1) as again:
            again.run()
            assert without_cursor(again.state()) == without_cursor(expected), number


def counting(it: Scene, monkeypatch: pytest.MonkeyPatch, killed_at: int | None = None) -> list[int]:
    """Count the writes of a store from now on, and end the process before one of them."""
    db: Any = it.chain.ledger.store._db
    count: list[int] = []

    def counted(right: Callable[..., None]) -> Callable[..., None]:
        def write(*arguments: Any, **more: Any) -> None:
            if len(count) == killed_at:
                raise Killed
            count.append(1)
            right(*arguments, **more)

        return write

    for name in ("write", "write_prepared"):
        monkeypatch.setattr(db, name, counted(getattr(db, name)))
    return count


def without_cursor(state: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return {key: value for key, value in state.items() if key != tables.DEPOSITS}
