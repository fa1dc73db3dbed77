"""Rebuild the derived tables of a store from its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol._native import EMPTY_ROOT, Snapshot
from entresol.errors import ReplayMismatch
from entresol.execution.block_rules import check_system_transactions
from entresol.execution.replay import apply_record
from entresol.primitives.values import Hash32
from entresol.state.snapshots import HistoricalState
from entresol.state.state_trie import StateTrie

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.primitives.records import BlockRecord
    from entresol.storage.store import Store


def rebuild(store: Store, progress: Callable[[int, int], None] = lambda _done, _all: None) -> None:
    """Rebuild the state, the tries and the indexes, and check every state root and system transaction."""
    trie = StateTrie(store)
    root = Hash32(EMPTY_ROOT)

    def nodes_of(record: BlockRecord) -> list[tuple[bytes, bytes]]:
        nonlocal root
        header = record.header()
        before = Snapshot(HistoricalState(store, max(header.number - 1, 0)))
        if header.number > store.loaded.last:
            check_system_transactions(record, before)
        root, nodes = trie.update(root, apply_record(record, before).changes())
        expected = store.loaded.roots.get(header.state_root, header.state_root)
        # The states of earlier blocks were not in the file that the chain was loaded from.
        if root != expected and header.number >= store.loaded.first:
            raise ReplayMismatch(header.number, f"state root {root}, not {header.state_root}")
        return nodes

    store.rebuild(nodes_of, progress)
