"""Iterate over the leaves of a trie in the order of their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from entresol._native import EMPTY_ROOT, rlp_decode
from entresol.errors import MissingNode, TrieError

if TYPE_CHECKING:
    from entresol._native import RlpItem

NodeReader: TypeAlias = Callable[[bytes], bytes | None]
"""Return the node with a hash, or None."""

_BRANCH_SIZE: Final = 17
_PAIR_SIZE: Final = 2
_ODD: Final = 1
_LEAF: Final = 2


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
