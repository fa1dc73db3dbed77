"""Build the store of a chain from a state file, beside the chain that it will replace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol._native import EMPTY_ROOT, Account, Overlay, Snapshot, keccak256
from entresol.chain.genesis.stored_genesis import genesis_block
from entresol.errors import NotPossible, ReplayMismatch
from entresol.execution.block_rules import check_system_transactions
from entresol.execution.evm_env import apply_changes
from entresol.features.dev.errors import InvalidStateFile
from entresol.primitives.records import BlockRecord, stored_changes
from entresol.primitives.values import Address, Hash32
from entresol.state.snapshots import HistoricalState
from entresol.state.state_trie import StateTrie
from entresol.storage import tables
from entresol.storage.loaded_history import LoadedBlocks, is_kept_row
from entresol.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from entresol.chain.genesis.genesis import Genesis
    from entresol.features.dev.state_file.reading import (
        ChainPart,
        FileAccount,
        FileBlock,
        StateFile,
    )
    from entresol.primitives.headers import ForkFields
    from entresol.primitives.published.rules import BlockRules


def build_genesis(
    genesis: Genesis, identity: bytes, fields: ForkFields, rules: BlockRules | None = None
) -> Store:
    """Return a store with the genesis alone; the fork of the chain adds `fields` to its header.

    `rules` are those of the blocks of a chain that publishes.
    """
    return _build(lambda builder: builder.start(genesis, identity, fields, rules))


def build_own(part: ChainPart, genesis: Genesis, identity: bytes) -> Store:
    """Return a store with exactly the chain that was dumped."""
    return _build(lambda builder: builder.restore(part, genesis, identity))


def build_foreign(file: StateFile, genesis: Genesis, identity: bytes) -> Store:
    """Return a store with the blocks and accounts of another node's file, over the state of our genesis."""
    return _build(lambda builder: builder.load(file, genesis, identity))


def _build(fill: Callable[[_Builder], None]) -> Store:
    store = Store.temporary()
    try:
        fill(_Builder(store))
    except BaseException:
        store.close()
        raise
    return store


class _Builder:
    """Appends blocks to an empty store, with the states that are known."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._trie = StateTrie(store)
        self._root = Hash32(EMPTY_ROOT)
        self._roots: dict[bytes, bytes] = {}

    def start(
        self, genesis: Genesis, identity: bytes, fields: ForkFields, rules: BlockRules | None
    ) -> None:
        """Append our genesis."""
        self._store.rules.current = rules
        record, nodes = genesis_block(genesis, self._store, self._trie, fields)
        self._store.init_genesis(record, nodes, identity, genesis.chain_id, genesis.anchor)

    def restore(self, part: ChainPart, genesis: Genesis, identity: bytes) -> None:
        """Append the records of our own part; each leads to the state root of its header."""
        rows = dict(part.rows)
        if not all(map(is_kept_row, rows)):
            raise InvalidStateFile("has rows of an unknown table", field="entresol.chains.rows")
        for key, row in rows.items():
            if key.startswith(tables.REMOTE_CODE) and key[1:] != keccak256(row):
                raise InvalidStateFile("has code of another hash", field="entresol.chains.rows")
        loaded = LoadedBlocks.of(rows)
        start = part.records[0].header().number if part.records else 0
        for number, record in enumerate(part.records, start):
            header = record.header()
            if header.number != number:
                problem = f"block {number} is missing"
                raise InvalidStateFile(problem, field="entresol.chains.records")
            overlay = self._overlay(number)
            apply_changes(overlay, record.changes, record.codes)
            nodes = self._advance(overlay)
            expected = loaded.roots.get(header.state_root, header.state_root)
            if number >= loaded.first and self._root != expected:
                problem = f"block {number} does not lead to its state root"
                raise InvalidStateFile(problem, field="entresol.chains.records")
            self._append(record, nodes, genesis, identity)
        self._store.loaded.write(rows.items())

    def load(self, file: StateFile, genesis: Genesis, identity: bytes) -> None:
        """Append the blocks of a file; the states of some of them may be known."""
        best = 0 if file.best is None else file.best
        if best not in file.blocks:
            raise NotPossible(f"Best hash not found for best number {best}")
        start, first = _genesis_of(file), _first_known(file, best)
        record, _ = genesis_block(genesis, self._store, self._trie)
        before: Mapping[Address, FileAccount] = {}
        for number in range(start, best + 1):
            block = file.blocks.get(number)
            if block is None:
                raise InvalidStateFile(f"block {number} is missing", field="blocks")
            overlay = self._overlay(number)
            if number == start:
                apply_changes(overlay, record.changes, record.codes)
            if number >= first:
                after = file.accounts if number == best else file.states[block.header.hash()]
                apply_accounts(overlay, before, after)
                before = after
            self._append_file_block(block, overlay, genesis, identity)
            if number >= first and self._root != block.header.state_root:
                self._roots[bytes(block.header.state_root)] = bytes(self._root)
        self._store.loaded.write([LoadedBlocks(first, self._roots, best).row()])

    def _append_file_block(
        self, block: FileBlock, overlay: Overlay, genesis: Genesis, identity: bytes
    ) -> None:
        changes = overlay.changes()
        record = BlockRecord(
            block.header.encode(),
            tuple(
                (transaction.raw, bytes(transaction.sender)) for transaction in block.transactions
            ),
            block.results,
            stored_changes(changes),
            tuple(code for _, code in sorted(changes.codes.items())),
        )
        self._append(record, self._advance(overlay), genesis, identity)

    def _overlay(self, number: int) -> Overlay:
        return Overlay(Snapshot(HistoricalState(self._store, max(number - 1, 0))))

    def _advance(self, overlay: Overlay) -> list[tuple[bytes, bytes]]:
        self._root, nodes = self._trie.update(self._root, overlay.changes())
        return nodes

    def _append(
        self,
        record: BlockRecord,
        nodes: list[tuple[bytes, bytes]],
        genesis: Genesis,
        identity: bytes,
    ) -> None:
        if self._store.head_number is None:
            anchor = genesis.anchor
            self._store.init_genesis(record, nodes, identity, genesis.chain_id, anchor)
        else:
            self._check(record)
            self._store.append(record, nodes)

    def _check(self, record: BlockRecord) -> None:
        """Reject a block with a system transaction that no node seals."""
        before = Snapshot(HistoricalState(self._store, record.header().number - 1))
        try:
            check_system_transactions(record, before)
        except ReplayMismatch as error:
            raise InvalidStateFile(str(error), field="blocks") from None


def _genesis_of(file: StateFile) -> int:
    """Return the number of the genesis block, which may be other than 0."""
    first = min(file.blocks)
    if first and file.blocks[first].header.parent_hash != Hash32.zero():
        raise InvalidStateFile(f"block {first - 1} is missing", field="blocks")
    return first


def _first_known(file: StateFile, best: int) -> int:
    """Return the first block from which on all states are in the file."""
    first = best
    while first and (below := file.blocks.get(first - 1)) is not None:
        if below.header.hash() not in file.states:
            break
        first -= 1
    return first


def apply_accounts(
    overlay: Overlay,
    before: Mapping[Address, FileAccount],
    after: Mapping[Address, FileAccount],
) -> None:
    """Apply the accounts of a file: they replace those that there are, but no nonce gets lower."""
    for address in before.keys() - after.keys():
        overlay.set_account(address, None)
    for address, account in after.items():
        known = overlay.account(address) or Account()
        code_hash = overlay.set_code(address, account.code)
        nonce = max(account.nonce, known.nonce)
        overlay.set_account(address, Account(nonce, account.balance, code_hash))
        earlier = before[address].storage if address in before else {}
        for slot in earlier.keys() - account.storage.keys():
            overlay.set_slot(address, slot, bytes(32))
        for slot, value in account.storage.items():
            overlay.set_slot(address, slot, value)
