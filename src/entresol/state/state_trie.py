"""The state trie: roots updated from changes, and Merkle proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TypeAlias

import msgspec

from entresol._native import EMPTY_ROOT, Snapshot, Trie
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol._native import Changes, Overlay
    from entresol.storage.loaded_history import LoadedHistory


AccountFields: TypeAlias = tuple[int, int, bytes, bytes]
"""Nonce, balance, storage root and code hash of an account, as the crate reads them."""


class TrieNodes(Protocol):
    """Trie nodes by hash."""

    def node(self, node_hash: bytes) -> bytes | None:
        """Return the trie node with this hash."""


class SlotProof(msgspec.Struct, frozen=True):
    """A slot's value with its Merkle proof."""

    slot: Hash32
    value: int
    proof: tuple[bytes, ...]


class AccountProof(msgspec.Struct, frozen=True, kw_only=True):
    """An account with its Merkle proof, and proofs of some of its slots."""

    address: Address
    nonce: int
    balance: int
    code_hash: Hash32
    storage_root: Hash32
    proof: tuple[bytes, ...]
    slots: tuple[SlotProof, ...]


class AccountLeaf(NamedTuple):
    """An account as its leaf in the state trie has it."""

    nonce: int = 0
    balance: int = 0
    storage_root: Hash32 = Hash32(EMPTY_ROOT)
    code_hash: Hash32 = EMPTY_CODE_HASH

    @classmethod
    def of(cls, fields: AccountFields | None) -> Self:
        """Take what the crate has read; an account without a leaf is empty."""
        if fields is None:
            return cls()
        nonce, balance, storage_root, code_hash = fields
        return cls(nonce, balance, Hash32(storage_root), Hash32(code_hash))


class _MoreNodes(NamedTuple):
    """Nodes, and those of a store."""

    fresh: dict[bytes, bytes]
    stored: TrieNodes

    def node(self, node_hash: bytes) -> bytes | None:
        """Return the trie node with this hash."""
        return self.fresh.get(node_hash) or self.stored.node(node_hash)


class StateTrie:
    """The Merkle Patricia tries of all states in a store; the caller of `update` stores the new nodes."""

    def __init__(
        self, nodes: TrieNodes, loaded: LoadedHistory | None = None, *, is_whole: bool = True
    ) -> None:
        self.native = self._trie = Trie(nodes.node)
        self._nodes = nodes
        self.is_whole = is_whole
        """Whether all of a state is in it; that of a fork has what was changed here alone."""
        self._loaded = loaded

    def root(self, root: Hash32) -> Hash32:
        """Return the root of the state after a block, given the root in its header: loaded blocks may differ."""
        return root if self._loaded is None else Hash32(self._loaded.roots.get(root, root))

    def update(self, root: Hash32, changes: Changes) -> tuple[Hash32, list[tuple[bytes, bytes]]]:
        """Return the root after `changes`, and the new nodes."""
        after, nodes = self._trie.update_state(self.root(root), changes)
        return Hash32(after), nodes

    def holding(self, root: Hash32, state: Snapshot | Overlay) -> tuple[StateTrie, Hash32]:
        """Return a trie that has a state, and its root; `root` is that of its block, and what an overlay changes is not stored."""
        if isinstance(state, Snapshot):
            return self, self.root(root)
        after, fresh = self.update(root, state.changes())
        return StateTrie(_MoreNodes(dict(fresh), self._nodes)), after

    def prove(self, root: Hash32, address: Address, slots: Iterable[Hash32] = ()) -> AccountProof:
        """Return proofs, of inclusion or exclusion, for an account and some of its slots."""
        slots = list(slots)
        fields, nodes, proven = self._trie.prove_account(self.root(root), address, slots)
        account = AccountLeaf.of(fields)
        return AccountProof(
            address=address,
            nonce=account.nonce,
            balance=account.balance,
            code_hash=account.code_hash,
            storage_root=account.storage_root,
            proof=tuple(nodes),
            slots=tuple(
                SlotProof(slot, value, tuple(proof))
                for slot, (value, proof) in zip(slots, proven, strict=True)
            ),
        )
