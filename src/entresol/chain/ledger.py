"""The sealed blocks of a chain and the states after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import EMPTY_ROOT, Snapshot
from entresol.chain.chain_use import ChainUse
from entresol.chain.edits import BlockSettings
from entresol.chain.genesis.stored_genesis import (
    ExpectedGenesis,
    genesis_block,
    identity,
    open_genesis,
)
from entresol.chain.rules import block_rules_of
from entresol.errors import (
    HistoryNotLoaded,
    NotInspectable,
    ReplayMismatch,
    StoreDamaged,
    UnknownBlock,
    WrongParent,
)
from entresol.execution.block_executor import ParentBlock
from entresol.execution.block_rules import check_system_transactions, prevrandao_after
from entresol.execution.evm_env import BlockEnv
from entresol.execution.replay import apply_and_verify, apply_record, re_execute, recovered
from entresol.execution.tracing import SealedBlock
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32
from entresol.state.snapshots import HistoricalState, Snapshots
from entresol.state.state_trie import StateTrie
from entresol.storage.read_cache import memory_of_record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol._native import Overlay, RemoteTable
    from entresol.chain.genesis.genesis import Genesis
    from entresol.chain.rules import ChainRules
    from entresol.errors import InvalidTransaction
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.primitives.anchor import Anchor
    from entresol.primitives.headers import ForkFields, Header
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import Transaction
    from entresol.storage.block_rows import Prices
    from entresol.storage.store import Store


MAX_HEADS: Final = 64
"""How many heads are remembered: tests revert to the same few again and again."""

MAX_ADVANCED: Final = 16
"""Up to how many new blocks of another process's store are applied to the cached state of the head before them."""


class RevertedBlocks(NamedTuple):
    """The data that a revert from the block with the hash `head` removes."""

    head: Hash32
    records: tuple[BlockRecord, ...] = ()
    """The records of blocks that are not empty, newest first."""
    size: int = 0
    """How many bytes the records take, roughly."""


class _NextEnv(NamedTuple):
    """The environment of the next block, and what it follows from."""

    head: Header
    settings: BlockSettings
    timestamp: int
    base_fee: int
    env: BlockEnv

    def is_of(self, head: Header, settings: BlockSettings, timestamp: int, base_fee: int) -> bool:
        """Say whether it follows from these; headers and settings never change, so the same objects do."""
        is_same = self.head is head and self.settings is settings
        return is_same and self.timestamp == timestamp and self.base_fee == base_fee


class Ledger:
    """Blocks and states of one chain, on a store; one thread appends and unwinds, and any may read."""

    head: Header
    """The header of the last block."""
    head_hash: Hash32
    """The hash of the last block."""
    latest: Snapshot
    """The state after the last block."""

    def __init__(
        self,
        store: Store,
        rules: ChainRules,
        genesis: Genesis | ExpectedGenesis,
        *,
        remote: RemoteTable | None = None,
    ) -> None:
        """Open the chain of a store, or begin one; that of a fork has the state of its `remote` below its own."""
        self.store = store
        self.remote = store.fork.remote = remote
        self.rules = rules
        is_fork = remote is not None or store.fork.anchor is not None
        self.trie = StateTrie(store, store.loaded, is_whole=not is_fork)
        self._snapshots = Snapshots(store, remote=remote)
        self._heads: BoundedMap[int, tuple[Header, Hash32]] = BoundedMap(MAX_HEADS)
        self.settings = BlockSettings()
        self.use = ChainUse()
        self._next_env: _NextEnv | None = None
        self.blob_fees = rules.blob_fees()
        if rules.publishes:
            store.rules.current = block_rules_of(rules)
        expected = genesis if isinstance(genesis, ExpectedGenesis) else ExpectedGenesis(genesis)
        if store.head_number is None:
            self._init_genesis(expected.genesis)
            self.genesis = expected.genesis
        else:
            self.genesis = open_genesis(store, expected)
        self._set_head(self.header(self.number))

    @property
    def number(self) -> int:
        """The number of the last block."""
        head = self.store.head_number
        if head is None:
            raise StoreDamaged(self.store.path, "there is no genesis")
        return head

    @property
    def first(self) -> int:
        """The number of the genesis block."""
        return self.store.first_number

    @property
    def anchor(self) -> Anchor | None:
        """The block of a remote chain that this one stands on; None if it is not a fork."""
        return self.store.fork.anchor

    @property
    def genesis_fields(self) -> ForkFields:
        """The fields that the fork of the chain adds to the header of its genesis."""
        return self.blob_fees.fork_fields(None)

    def header(self, number: int) -> Header:
        """Return the header of a block."""
        return self.store.header(number)

    def record(self, number: int) -> BlockRecord:
        """Return the record of a block."""
        return self.store.record(number)

    def state_after(self, number: int) -> Snapshot:
        """Return the state after a block."""
        if not self.first <= number <= self.number:
            raise UnknownBlock(number)
        self.check_state(number)
        return self._snapshots.after(number)

    def check_state(self, number: int) -> None:
        """Raise `HistoryNotLoaded` if the state after a block is not known."""
        if number < self.store.loaded.first:
            raise HistoryNotLoaded(number, self.store.loaded.first)

    def check_executed(self, number: int) -> None:
        """Raise `NotInspectable` for a block of another node, which would give other results here."""
        if number <= self.store.loaded.last:
            raise NotInspectable(
                f"block {number} was loaded from another node's state file, and cannot be executed again"
            )

    def sealed_block(self, number: int) -> SealedBlock:
        """Return a block, and what it was executed on, to execute it again; the genesis was not executed."""
        record, parent = self.store.record(number), self.store.header(number - 1)
        rules = self.rules_at(number).evm_rules()
        return SealedBlock(record, parent, rules, self.state_after(number - 1))

    def next_block_env(self, timestamp: int) -> BlockEnv:
        """Return the environment of the block after the head: the same object while it does not change."""
        head, settings = self.head, self.settings
        fee = self.rules.fees.next(head)
        known = self._next_env
        if known is None or not known.is_of(head, settings, timestamp, fee):
            number = head.number + 1
            env = BlockEnv(
                number=number,
                timestamp=timestamp,
                gas_limit=self.rules.gas_limit,
                base_fee=fee,
                beneficiary=self.rules.beneficiary,
                prevrandao=prevrandao_after(self.head_hash, number),
                fork_fields=self.blob_fees.fork_fields(head),
            )
            known = _NextEnv(head, settings, timestamp, fee, settings.apply(env))
            self._next_env = known
        return known.env

    @property
    def parent(self) -> ParentBlock:
        """The head as the parent of the next block."""
        return ParentBlock(self.head_hash, self.head.state_root)

    def append(
        self, executed: ExecutedBlock, prices: Prices | None = None, *, sync: bool = True
    ) -> None:
        """Make an executed block the head, durably; without `sync` by the next write that syncs."""
        self.store.append(executed.record, executed.nodes, prices, sync=sync)
        self._advance(executed.record, executed.overlay)

    def write(self, executed: ExecutedBlock, prices: Prices | None = None) -> None:
        """Write an executed block without making it the head; `Store.sync` makes it durable, then `show`."""
        self.store.write_next(executed.record, executed.nodes, prices)

    def prepare_write(self, executed: ExecutedBlock) -> None:
        """Prepare what `write` writes of the next block, which takes longer; any thread may call it."""
        self.store.prepare_next(executed.record, executed.nodes)

    def sync(self, executed: ExecutedBlock) -> None:
        """Make a block that was written durable, and prepare the state that `show` shows; for any thread."""
        self.store.sync()
        self._snapshots.prepare(executed.header.number, executed.overlay)

    def show(self, executed: ExecutedBlock) -> None:
        """Make the block that was written the head."""
        self.store.show_next()
        self._advance(executed.record, executed.overlay)

    def import_block(
        self, record: BlockRecord, *, execute: bool = False, prices: Prices | None = None
    ) -> None:
        """Make a block of another node, which alone knows its prices, the head: apply its record, or re-execute it."""
        header = record.header()
        if header.number != self.number + 1 or header.parent_hash != self.head_hash:
            raise WrongParent(header.number, self.number)
        if execute:
            executed = self._re_execute(record, self.head, prices)
            overlay, nodes = executed.overlay, executed.nodes
        else:
            overlay, nodes = apply_and_verify(
                record,
                self.head,
                snapshot=self.latest,
                trie=self.trie,
                record_rules=self.rules_at(header.number).record_rules(self.head, prices),
            )
        self.store.append(record, nodes, prices)
        self._advance(record, overlay)

    def reverted_by(self, number: int) -> RevertedBlocks:
        """Return the blocks that reverting to block `number` removes; any thread may call it."""
        head = self.head_hash
        records = tuple(self.store.nonempty_above(number))[::-1]
        return RevertedBlocks(head, records, sum(map(memory_of_record, records)))

    def unwind(self, number: int) -> None:
        """Revert to block `number`."""
        self.check_state(number)
        if number >= self.head.number:
            return
        self.use.on_removed()
        self.store.unwind(number)
        self._snapshots.evict_above(number)
        # Those of reverted blocks stay: whatever becomes the head again has put its own in their place.
        known = self._heads.get(number)
        if known is None:
            self._set_head(self.header(number))
        else:
            self.head, self.head_hash = known
            self.latest = self._snapshots.after(number)

    def replace(self, source: Store) -> bool:
        """Replace all blocks by those of another store; return whether that has the blocks so far now."""
        self.use.on_removed()
        is_exchanged = self.store.replace(source)
        self._snapshots.evict_above(-1)
        self._heads.clear()
        self._set_head(self.header(self.number))
        return is_exchanged

    def follow(self, number: int, common: int) -> None:
        """Make block `number` of a store that another process writes the head; blocks above `common` are other ones."""
        if common < self.head.number:
            self.use.on_removed()
        self._snapshots.evict_above(common)
        self._heads.pop_all(common.__lt__)
        if common >= 0 and number - common <= MAX_ADVANCED:
            for above in range(common + 1, number + 1):
                overlay = apply_record(self.record(above), self._snapshots.after(above - 1))
                self._snapshots.advance(above, overlay)
        if number != common or number != self.head.number:
            self._set_head(self.header(number))

    def verify(self, progress: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Re-execute every block that was executed here; raise `ReplayMismatch` at the first that differs."""
        loaded = max(self.store.loaded.last, self.first)
        parent = self.header(loaded)
        # As many as `rebuild` counts: the first was compared with the genesis when the chain was opened.
        total = self.number + 1 - self.first
        progress(loaded + 1 - self.first, total)
        records = map(self.record, range(loaded + 1, self.number + 1))
        for record, transactions in recovered(records):
            prices = self.store.prices.at(parent.number + 1)
            self._re_execute(record, parent, prices, transactions)
            parent = record.header()
            progress(parent.number + 1 - self.first, total)

    def _re_execute(
        self,
        record: BlockRecord,
        parent: Header,
        prices: Prices | None,
        transactions: Sequence[Transaction | InvalidTransaction] | None = None,
    ) -> ExecutedBlock:
        rules = self.rules_at(parent.number + 1)
        return re_execute(
            record,
            parent,
            rules=rules.evm_rules(),
            snapshot=self.state_after(parent.number),
            trie=self.trie,
            transactions=transactions,
            record_rules=rules.record_rules(parent, prices),
        )

    def rules_at(self, number: int) -> ChainRules:
        """Return the rules of a block that others may have sealed; those of now, if it is a new one."""
        if not self.rules.publishes or number > self.number:
            return self.rules
        return self.rules.at(self.store.rules.at(number))

    def _advance(self, record: BlockRecord, overlay: Overlay) -> None:
        header = record.header()
        latest = self._snapshots.advance(header.number, overlay)
        self._set_head(header, record.hash(), latest)

    def _set_head(
        self, header: Header, block_hash: Hash32 | None = None, latest: Snapshot | None = None
    ) -> None:
        self.head = header
        self.head_hash = header.hash() if block_hash is None else block_hash
        self.latest = self._snapshots.after(header.number) if latest is None else latest
        self._heads.put(header.number, (header, self.head_hash))

    def _init_genesis(self, genesis: Genesis) -> None:
        record, nodes = genesis_block(genesis, self.store, self.trie, self.genesis_fields)
        self.store.init_genesis(record, nodes, identity(genesis), genesis.chain_id, genesis.anchor)


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
