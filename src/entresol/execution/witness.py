"""Execution witness of a block: the trie nodes, codes and headers that suffice to execute it without a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from entresol._native import Snapshot
from entresol.execution.replay import re_execute
from entresol.primitives.values import Address, Hash32
from entresol.state.snapshots import HistoricalState
from entresol.state.state_trie import StateTrie

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from entresol._native import Account, Rules
    from entresol.primitives.records import BlockRecord
    from entresol.storage.loaded_history import LoadedHistory
    from entresol.storage.store_view import StoreView


AccountReads: TypeAlias = tuple[bytes, list[bytes]]
"""An account that is read, and its slots that are."""


class ExecutionWitness(NamedTuple):
    """The part of the state before a block that it reads; all but the headers are sorted, and nothing is there twice."""

    headers: list[bytes]
    """Encoded headers: the parent's, and those down to the oldest whose hash is read; ascending."""
    codes: list[bytes]
    state: list[bytes]
    """Trie nodes, which also suffice to compute the state root after the block."""
    keys: list[bytes]
    """Addresses and slots that are read."""


class _RecordedState(HistoricalState):
    """A state that remembers what is read of it."""

    def __init__(self, store: StoreView, number: int) -> None:
        super().__init__(store, number)
        self.accounts: dict[bytes, list[bytes]] = {}
        self.codes: dict[bytes, bytes] = {}
        self.oldest = number

    def account(self, address: bytes) -> Account | None:
        self.accounts.setdefault(address, [])
        return super().account(address)

    def slot(self, address: bytes, slot: bytes) -> bytes:
        self.accounts.setdefault(address, []).append(slot)
        return super().slot(address, slot)

    def code(self, code_hash: bytes) -> bytes:
        code = super().code(code_hash)
        if code:
            self.codes[code_hash] = code
        return code

    def block_hash(self, number: int) -> bytes:
        self.oldest = min(self.oldest, number)
        return super().block_hash(number)


class _RecordedNodes:
    """Trie nodes, of which those that are read are remembered."""

    def __init__(self, store: StoreView) -> None:
        self._store = store
        self.read: dict[bytes, bytes] = {}

    def node(self, node_hash: bytes) -> bytes | None:
        node = self._store.node(node_hash)
        if node is not None:
            self.read[node_hash] = node
        return node


def witness_of(
    record: BlockRecord,
    store: StoreView,
    rules: Rules,
    loaded: LoadedHistory | None = None,
    *,
    paced: Callable[[Iterable[AccountReads]], Iterable[AccountReads]] = iter,
) -> ExecutionWitness:
    """Re-execute a block above genesis, and return everything that it reads.

    `loaded` has the roots of states by those in headers, where they differ. The accounts to prove pass through `paced`.
    """
    number = record.header().number
    parent = store.header(number - 1)
    state, nodes = _RecordedState(store, parent.number), _RecordedNodes(store)
    trie = StateTrie(nodes, loaded)
    # Both start with empty caches, so that every read is seen once.
    re_execute(
        record,
        parent,
        rules=rules,
        snapshot=Snapshot(state),
        trie=trie,
        # The chain has recovered their senders before it had the block.
        transactions=record.decoded(),
    )
    for address, slots in paced(state.accounts.items()):
        trie.prove(parent.state_root, Address(address), map(Hash32, slots))
    return ExecutionWitness(
        headers=[store.record(block).header_rlp for block in range(state.oldest, number)],
        codes=sorted(state.codes.values()),
        state=sorted(nodes.read.values()),
        keys=sorted(
            {key for address, slots in state.accounts.items() for key in (address, *slots)}
        ),
    )
