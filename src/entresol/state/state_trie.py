"""The state trie: roots updated from changes, and Merkle proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol._native import EMPTY_ROOT, Trie, keccak256, rlp_decode
from entresol.errors import TrieError
from entresol.primitives import rlp
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol._native import Changes
    from entresol.storage.readers import StateReader


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


class StateTrie:
    """The Merkle Patricia tries of all states in a store.

    Remembers: a bounded cache of nodes. Persists: nothing; the caller of `update` stores the new nodes.
    """

    def __init__(self, store: StateReader) -> None:
        self._trie = Trie(store.node)

    def update(self, root: Hash32, changes: Changes) -> tuple[Hash32, list[tuple[bytes, bytes]]]:
        """Return the root after `changes`, and the new nodes."""
        after, nodes = self._trie.update_state(root, changes)
        return Hash32(after), nodes

    def prove(self, root: Hash32, address: Address, slots: Iterable[Hash32] = ()) -> AccountProof:
        """Return proofs, of inclusion or exclusion, for an account and some of its slots."""
        key = keccak256(address)
        nonce, balance, storage_root, code_hash = self._account(root, key)
        return AccountProof(
            address=address,
            nonce=nonce,
            balance=balance,
            code_hash=code_hash,
            storage_root=storage_root,
            proof=tuple(self._trie.prove(root, key)),
            slots=tuple(self._prove_slot(storage_root, slot) for slot in slots),
        )

    def _account(self, root: Hash32, key: bytes) -> tuple[int, int, Hash32, Hash32]:
        leaf = self._trie.get(root, key)
        if leaf is None:
            return 0, 0, Hash32(EMPTY_ROOT), EMPTY_CODE_HASH
        nonce, balance, storage_root, code_hash = rlp.decode_fields(leaf, 4, "an account")
        return (
            rlp.read_uint(nonce, 64, "nonce"),
            rlp.read_uint(balance, 256, "balance"),
            rlp.read_fixed(storage_root, Hash32, "storageRoot"),
            rlp.read_fixed(code_hash, Hash32, "codeHash"),
        )

    def _prove_slot(self, storage_root: Hash32, slot: Hash32) -> SlotProof:
        key = keccak256(slot)
        leaf = self._trie.get(storage_root, key)
        value = b"" if leaf is None else rlp_decode(leaf)
        if not isinstance(value, bytes):
            raise TrieError(f"slot {slot} holds a list")
        return SlotProof(slot, int.from_bytes(value), tuple(self._trie.prove(storage_root, key)))
