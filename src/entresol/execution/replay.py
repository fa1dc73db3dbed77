"""Import a block from its record: apply its changes, or re-execute it and compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol._native import Overlay
from entresol.errors import BlockFull, InvalidTransaction, ReplayMismatch
from entresol.execution.block_executor import BlockExecutor, ParentBlock
from entresol.execution.evm_env import BlockEnv
from entresol.execution.state_edits import apply_changes
from entresol.execution.system_transactions import check_system_transactions
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol._native import Rules, Snapshot
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.state.state_trie import StateTrie


def re_execute(
    record: BlockRecord, parent: Header, *, rules: Rules, snapshot: Snapshot, trie: StateTrie
) -> ExecutedBlock:
    """Execute the block of `record` on its parent's state; raise `ReplayMismatch` if it differs."""
    header = record.header()
    if (header.number, header.parent_hash) != (parent.number + 1, parent.hash()):
        raise ReplayMismatch(header.number, f"block {parent.number} is not its parent")
    try:
        executor = open_replay(record, parent, rules=rules, snapshot=snapshot)
    except OverflowError as error:
        raise ReplayMismatch(header.number, f"no block has such a header: {error}") from error
    for index in range(len(record.transactions)):
        replay_transaction(executor, record, index)
    executed = executor.finish(trie)
    if executed.record != record:
        raise ReplayMismatch(header.number, _first_difference(executed.record, record))
    return executed


def state_at_transaction(
    record: BlockRecord, parent: Header, count: int, *, rules: Rules, snapshot: Snapshot
) -> Overlay:
    """Return the state after the first `count` transactions of the block of `record`."""
    return replayed(record, parent, count, rules=rules, snapshot=snapshot).overlay


def replayed(
    record: BlockRecord, parent: Header, count: int, *, rules: Rules, snapshot: Snapshot
) -> BlockExecutor:
    """Return the executor after the first `count` transactions of the block of `record`."""
    executor = open_replay(record, parent, rules=rules, snapshot=snapshot)
    for index in range(count):
        replay_transaction(executor, record, index)
    return executor


def open_replay(
    record: BlockRecord, parent: Header, *, rules: Rules, snapshot: Snapshot
) -> BlockExecutor:
    """Return an executor of the block of `record` that has applied its edits, and no transaction."""
    header = record.header()
    executor = BlockExecutor(
        rules,
        snapshot,
        BlockEnv.of(header),
        ParentBlock(header.parent_hash, parent.state_root),
        extra_data=header.extra_data,
    )
    executor.edit(record.edits, record.codes)
    executor.begin()
    return executor


def replay_transaction(executor: BlockExecutor, record: BlockRecord, index: int) -> None:
    """Execute the transaction at `index`, which was valid when the block was sealed."""
    number = executor.env.number
    try:
        executor.run(record.transaction(index))
    except (InvalidTransaction, BlockFull) as error:
        raise ReplayMismatch(number, f"transaction {index} is rejected: {error}") from error


def apply_record(record: BlockRecord, snapshot: Snapshot) -> Overlay:
    """Return the state after the block of `record`, from its changes and without executing it."""
    overlay = Overlay(snapshot)
    apply_changes(overlay, record.changes, record.codes)
    return overlay


def apply_and_verify(
    record: BlockRecord, parent_root: Hash32, *, snapshot: Snapshot, trie: StateTrie
) -> tuple[Overlay, list[tuple[bytes, bytes]]]:
    """Apply `record` without executing it; return the state and its new trie nodes.

    Raises `ReplayMismatch` if the state root is not the header's, or if a system transaction is not what it has to be.
    """
    header = record.header()
    check_system_transactions(record, snapshot)
    overlay = apply_record(record, snapshot)
    root, nodes = trie.update(parent_root, overlay.changes())
    if root != header.state_root:
        raise ReplayMismatch(header.number, f"state root {root}, not {header.state_root}")
    return overlay, nodes


def _first_difference(ours: BlockRecord, theirs: BlockRecord) -> str:
    parts = (
        ("results", ours.results == theirs.results),
        ("changes", ours.changes == theirs.changes),
        ("codes", ours.codes == theirs.codes),
        ("header", ours.header_rlp == theirs.header_rlp),
    )
    return next((f"other {name}" for name, same in parts if not same), "other transactions")
