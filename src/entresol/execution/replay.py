"""Blocks that others made: applied from their record, or executed again and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol._native import Overlay
from entresol.errors import BlockFull, InvalidTransaction, ReplayMismatch
from entresol.execution.block_executor import BlockExecutor, ParentBlock
from entresol.execution.evm_env import BlockEnv
from entresol.execution.state_edits import apply_changes
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
    """Execute the block of `record` on the state after its parent; it must come out the same."""
    header = record.header()
    if (header.number, header.parent_hash) != (parent.number + 1, parent.hash()):
        raise ReplayMismatch(header.number, f"block {parent.number} is not its parent")
    try:
        transition = _begin(header, parent, rules, snapshot)
    except OverflowError as error:
        raise ReplayMismatch(header.number, f"no block has such a header: {error}") from error
    transition.edit(record.edits, record.codes)
    for index in range(len(record.transactions)):
        _run_again(transition, record, index)
    executed = transition.finish(trie)
    if executed.record != record:
        raise ReplayMismatch(header.number, _first_difference(executed.record, record))
    return executed


def state_at_transaction(
    record: BlockRecord, parent: Header, count: int, *, rules: Rules, snapshot: Snapshot
) -> Overlay:
    """Return the state within the block of `record`, behind its first `count` transactions."""
    transition = _begin(record.header(), parent, rules, snapshot)
    transition.edit(record.edits, record.codes)
    for index in range(count):
        _run_again(transition, record, index)
    return transition.overlay


def apply_record(record: BlockRecord, snapshot: Snapshot) -> Overlay:
    """Return the state after the block of `record`, without executing it."""
    overlay = Overlay(snapshot)
    apply_changes(overlay, record.changes, record.codes)
    return overlay


def apply_and_verify(
    record: BlockRecord, parent_root: Hash32, *, snapshot: Snapshot, trie: StateTrie
) -> tuple[Overlay, list[tuple[bytes, bytes]]]:
    """Return the state after the block of `record` and its new trie nodes; its root must be right."""
    header = record.header()
    overlay = apply_record(record, snapshot)
    root, nodes = trie.update(parent_root, overlay.changes())
    if root != header.state_root:
        raise ReplayMismatch(header.number, f"state root {root}, not {header.state_root}")
    return overlay, nodes


def _begin(header: Header, parent: Header, rules: Rules, snapshot: Snapshot) -> BlockExecutor:
    return BlockExecutor(
        rules,
        snapshot,
        BlockEnv.of(header),
        ParentBlock(header.parent_hash, parent.state_root),
        extra_data=header.extra_data,
    )


def _run_again(transition: BlockExecutor, record: BlockRecord, index: int) -> None:
    number = transition.env.number
    try:
        transition.run(record.transaction(index))
    except (InvalidTransaction, BlockFull) as error:
        raise ReplayMismatch(number, f"transaction {index} is rejected: {error}") from error


def _first_difference(ours: BlockRecord, theirs: BlockRecord) -> str:
    parts = (
        ("outcomes", ours.results == theirs.results),
        ("changes", ours.changes == theirs.changes),
        ("codes", ours.codes == theirs.codes),
        ("header", ours.header_rlp == theirs.header_rlp),
    )
    return next((f"other {name}" for name, same in parts if not same), "other transactions")
