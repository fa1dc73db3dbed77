"""The genesis block of a chain, built from its genesis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import EMPTY_ROOT, Overlay, Snapshot
from entresol.primitives.headers import ForkFields
from entresol.primitives.records import BlockRecord, stored_changes
from entresol.primitives.values import Hash32
from entresol.state.snapshots import HistoricalState

if TYPE_CHECKING:
    from entresol.chain.genesis.genesis import Genesis
    from entresol.state.state_trie import StateTrie
    from entresol.storage.store_view import StateReader

_NO_FIELDS: Final = ForkFields()


def genesis_block(
    genesis: Genesis, store: StateReader, trie: StateTrie, fields: ForkFields = _NO_FIELDS
) -> tuple[BlockRecord, list[tuple[bytes, bytes]]]:
    """Return the record and the trie nodes of the genesis block, for an empty store; `fields` are those of the fork."""
    overlay = Overlay(Snapshot(HistoricalState(store, 0)))
    state = genesis.state()
    for address, account in state.accounts.items():
        code = state.codes.get(account.code_hash)
        if code is not None:
            overlay.set_code(address, code)
        overlay.set_account(address, account)
        for slot, value in state.storage.get(address, {}).items():
            overlay.set_slot(address, slot, value)
    changes = overlay.changes()
    root, nodes = trie.update(Hash32(EMPTY_ROOT), changes)
    codes = tuple(code for _, code in sorted(changes.codes.items()))
    header = genesis.header(root, fields)
    return BlockRecord(header.encode(), (), (), stored_changes(changes), codes), nodes
