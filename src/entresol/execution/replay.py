"""Import a block from its record: apply its changes, or re-execute it and compare."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from entresol._native import Overlay
from entresol.errors import BlockFull, InvalidTransaction, ReplayMismatch
from entresol.execution.block_executor import BlockExecutor, ParentBlock
from entresol.execution.block_rules import (
    RecordRules,
    check_block,
    check_signed,
    check_system_transactions,
)
from entresol.execution.evm_env import BlockEnv, apply_changes
from entresol.primitives.transactions import recover_many

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from entresol._native import Rules, Snapshot
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import Transaction
    from entresol.state.state_trie import StateTrie

_DEVELOPMENT: Final = RecordRules()

_PART_SIZE: Final = 1024 * 1024
"""How many bytes of blocks have their senders recovered at once: some thousand transactions."""
_BLOCK_SIZE: Final = 2_048
_TRANSACTION_SIZE: Final = 512
"""Memory of a decoded one beside its bytes, roughly."""


def recovered(
    records: Iterable[BlockRecord],
) -> Iterator[tuple[BlockRecord, Sequence[Transaction | InvalidTransaction]]]:
    """Yield blocks with their transactions, senders recovered; those of many blocks at once, on all cores."""
    part: list[BlockRecord] = []
    size = 0
    for record in records:
        part.append(record)
        size += _BLOCK_SIZE + sum(_TRANSACTION_SIZE + len(raw) for raw, _ in record.transactions)
        if size >= _PART_SIZE:
            yield from _recovered(part)
            part, size = [], 0
    yield from _recovered(part)


def _recovered(
    records: Sequence[BlockRecord],
) -> Iterator[tuple[BlockRecord, Sequence[Transaction | InvalidTransaction]]]:
    found = iter(
        recover_many([transaction for record in records for transaction in record.transactions])
    )
    for record in records:
        yield record, tuple(islice(found, len(record.transactions)))


def re_execute(  # noqa: PLR0913 - what a block is executed on
    record: BlockRecord,
    parent: Header,
    *,
    rules: Rules,
    snapshot: Snapshot,
    trie: StateTrie,
    transactions: Sequence[Transaction | InvalidTransaction] | None = None,
    record_rules: RecordRules = _DEVELOPMENT,
) -> ExecutedBlock:
    """Execute the block of `record` on its parent's state; raise `ReplayMismatch` if it differs.

    Senders are recovered from the bytes of its transactions, unless `transactions` has them already.
    """
    header = record.header()
    if (header.number, header.parent_hash) != (parent.number + 1, parent.hash()):
        raise ReplayMismatch(header.number, f"block {parent.number} is not its parent")
    check_block(record, parent, record_rules)
    if transactions is None:
        transactions = recover_many(record.transactions)
    try:
        executor = open_replay(
            record,
            parent,
            rules=rules,
            snapshot=snapshot,
            accepts_unsigned=record_rules.is_development,
        )
    except OverflowError as error:
        raise ReplayMismatch(header.number, f"no block has such a header: {error}") from error
    for index, transaction in enumerate(transactions):
        _replay(executor, index, transaction)
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
    record: BlockRecord,
    parent: Header,
    *,
    rules: Rules,
    snapshot: Snapshot,
    accepts_unsigned: bool = True,
) -> BlockExecutor:
    """Return an executor of the block of `record` that has applied its edits, and no transaction."""
    header = record.header()
    executor = BlockExecutor(
        rules,
        snapshot,
        BlockEnv.of(header),
        ParentBlock(header.parent_hash, parent.state_root),
        extra_data=header.extra_data,
        accepts_unsigned=accepts_unsigned,
    )
    executor.edit(record.edits, record.codes)
    executor.begin()
    return executor


def replay_transaction(executor: BlockExecutor, record: BlockRecord, index: int) -> None:
    """Execute the transaction at `index` of a block that was checked before: its sender is the record's."""
    _replay(executor, index, record.transaction(index))


def _replay(
    executor: BlockExecutor, index: int, transaction: Transaction | InvalidTransaction
) -> None:
    try:
        if isinstance(transaction, InvalidTransaction):
            raise transaction
        executor.run(transaction)
    except (InvalidTransaction, BlockFull) as error:
        number = executor.env.number
        raise ReplayMismatch(number, f"transaction {index} is rejected: {error}") from error


def apply_record(record: BlockRecord, snapshot: Snapshot) -> Overlay:
    """Return the state after the block of `record`, from its changes and without executing it."""
    overlay = Overlay(snapshot)
    apply_changes(overlay, record.changes, record.codes)
    return overlay


def apply_and_verify(
    record: BlockRecord,
    parent: Header,
    *,
    snapshot: Snapshot,
    trie: StateTrie,
    record_rules: RecordRules = _DEVELOPMENT,
) -> tuple[Overlay, list[tuple[bytes, bytes]]]:
    """Apply `record` without executing it; return the state and its new trie nodes.

    Raises `ReplayMismatch` if it breaks a rule, if the state root is not the header's, or if a system transaction is
    not what it has to be. Who signed is not recovered.
    """
    header = record.header()
    check_block(record, parent, record_rules)
    if not record_rules.is_development:
        check_signed(record)
    check_system_transactions(record, snapshot)
    overlay = apply_record(record, snapshot)
    root, nodes = trie.update(parent.state_root, overlay.changes())
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
