"""The state trie: roots updated from changes, and Merkle proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self, TypeAlias

import msgspec

from entresol._native import EMPTY_ROOT, Trie, keccak256, rlp_decode
from entresol.errors import MissingNode, TrieError
from entresol.primitives import rlp
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from entresol._native import Changes, RlpItem


NodeReader: TypeAlias = Callable[[bytes], bytes | None]
"""Return the node with a hash, or None."""

_BRANCH_SIZE: Final = 17

_PAIR_SIZE: Final = 2

_ODD: Final = 1

_LEAF: Final = 2


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
    def decode(cls, leaf: bytes) -> Self:
        """Read the value of a leaf."""
        nonce, balance, storage_root, code_hash = rlp.decode_fields(leaf, 4, "an account")
        return cls(
            rlp.read_uint(nonce, 64, "nonce"),
            rlp.read_uint(balance, 256, "balance"),
            rlp.read_fixed(storage_root, Hash32, "storageRoot"),
            rlp.read_fixed(code_hash, Hash32, "codeHash"),
        )


class LoadedRoots(Protocol):
    """What is known of blocks that were loaded from a state file."""

    @property
    def roots(self) -> Mapping[bytes, bytes]:
        """The roots of states by the roots that headers have, where they differ."""


class StateTrie:
    """The Merkle Patricia tries of all states in a store.

    Remembers: a bounded cache of nodes. Persists: nothing; the caller of `update` stores the new nodes.
    """

    def __init__(self, nodes: TrieNodes, loaded: LoadedRoots | None = None) -> None:
        self.native = self._trie = Trie(nodes.node)
        self._loaded = loaded

    def root(self, root: Hash32) -> Hash32:
        """Return the root of the state after a block, given the root in its header: loaded blocks may differ."""
        return root if self._loaded is None else Hash32(self._loaded.roots.get(root, root))

    def update(self, root: Hash32, changes: Changes) -> tuple[Hash32, list[tuple[bytes, bytes]]]:
        """Return the root after `changes`, and the new nodes."""
        after, nodes = self._trie.update_state(self.root(root), changes)
        return Hash32(after), nodes

    def prove(self, root: Hash32, address: Address, slots: Iterable[Hash32] = ()) -> AccountProof:
        """Return proofs, of inclusion or exclusion, for an account and some of its slots."""
        key = keccak256(address)
        account = self.account(root, address) or AccountLeaf()
        return AccountProof(
            address=address,
            nonce=account.nonce,
            balance=account.balance,
            code_hash=account.code_hash,
            storage_root=account.storage_root,
            proof=tuple(self._trie.prove(self.root(root), key)),
            slots=tuple(self._prove_slot(account.storage_root, slot) for slot in slots),
        )

    def account(self, root: Hash32, address: Address) -> AccountLeaf | None:
        """Return an account, or None."""
        leaf = self._trie.get(self.root(root), keccak256(address))
        return None if leaf is None else AccountLeaf.decode(leaf)

    def _prove_slot(self, storage_root: Hash32, slot: Hash32) -> SlotProof:
        key = keccak256(slot)
        leaf = self._trie.get(storage_root, key)
        value = b"" if leaf is None else rlp_decode(leaf)
        if not isinstance(value, bytes):
            raise TrieError(f"slot {slot} holds a list")
        return SlotProof(slot, int.from_bytes(value), tuple(self._trie.prove(storage_root, key)))


def leaves(node: NodeReader, root: bytes, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of each leaf under `root` whose key is at least `start`, in order.

    Only the nodes on the way are read, so the first leaves of a large trie cost no more than those of a small one.
    """
    if root != EMPTY_ROOT:
        yield from _walk(node, bytes(root), b"", _nibbles(start))


def _walk(
    node: NodeReader, item: RlpItem, path: bytes, start: bytes
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the leaves below a node, which is at `path`; paths have one byte for each nibble."""
    if path < start[: len(path)]:
        return
    fields = _resolved(node, item)
    if len(fields) == _BRANCH_SIZE:
        for index, child in enumerate(fields[:16]):
            if child:
                yield from _walk(node, child, path + bytes([index]), start)
        return
    encoded, value = fields
    if not isinstance(encoded, bytes) or not encoded:
        raise TrieError("a node of a trie has no path")
    flags, nibbles = encoded[0] >> 4, _nibbles(encoded)
    path += nibbles[1 if flags & _ODD else 2 :]
    if not flags & _LEAF:
        yield from _walk(node, value, path, start)
    elif path >= start and isinstance(value, bytes):
        yield _packed(path), value


def _resolved(node: NodeReader, item: RlpItem) -> list[RlpItem]:
    """Return the fields of a node; a short one is part of its parent."""
    if isinstance(item, bytes):
        encoded = node(item)
        if encoded is None:
            raise MissingNode(item)
        item = rlp_decode(encoded)
    if not isinstance(item, list) or len(item) not in (_BRANCH_SIZE, _PAIR_SIZE):
        raise TrieError("a node of a trie has neither 2 nor 17 fields")
    return item


def _nibbles(key: bytes) -> bytes:
    return bytes(nibble for byte in key for nibble in (byte >> 4, byte & 15))


def _packed(nibbles: bytes) -> bytes:
    return bytes(high << 4 | low for high, low in zip(nibbles[::2], nibbles[1::2], strict=True))
