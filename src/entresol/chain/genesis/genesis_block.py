"""The genesis block of a chain, built from its genesis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import EMPTY_ROOT, Overlay, Snapshot
from entresol.primitives.headers import ForkFields
from entresol.primitives.records import BlockRecord, stored_changes
from entresol.primitives.values import Address, Hash32
from entresol.state.snapshots import HistoricalState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from entresol.chain.genesis.genesis import Genesis, GenesisAccount
    from entresol.primitives.records import StoredChange
    from entresol.state.state_trie import StateTrie
    from entresol.storage.store_view import StateReader

_NO_FIELDS: Final = ForkFields()


def genesis_block(
    genesis: Genesis, store: StateReader, trie: StateTrie, fields: ForkFields = _NO_FIELDS
) -> tuple[BlockRecord, list[tuple[bytes, bytes]]]:
    """Return the record and the trie nodes of the genesis block, for an empty store; `fields` are those of the fork.

    What a fork lays over its anchor is complete, so nothing of the remote is read.
    """
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
    stored = stored_changes(changes)
    if genesis.anchor is not None:
        stored = tuple(_laid_over(it, genesis.alloc) for it in stored)
    return BlockRecord(header.encode(), (), (), stored, codes), nodes


def _laid_over(change: StoredChange, alloc: Mapping[Address, GenesisAccount]) -> StoredChange:
    """Return the change of an account that is laid over a remote one, whose storage is gone unless it is kept."""
    keeps = alloc[Address(change.address)].keeps_storage
    return msgspec.structs.replace(change, destroyed=not keeps)
