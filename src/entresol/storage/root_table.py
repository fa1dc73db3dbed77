"""Stored roots over all chains: how far L1 is read, what is to be imported, and the paths by which batches are proven."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol.primitives.interop_roots import InteropRoot
from entresol.primitives.values import Hash32
from entresol.storage import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from entresol.storage.database.key_value import KeyValueStore, Row

_HASH: Final = 32
_BLOCK: Final = slice(0, 8)
_BATCH_ROOT: Final = slice(8, 40)
_ROOT: Final = slice(40, 72)
_PATH_LENGTH: Final = 72
_LEFT_OUT_SIZE: Final = slice(73, 77)
_LEFT_OUT: Final = 77


class RootCursor(NamedTuple):
    """The L1 block up to which the trees of roots are known, and those trees, encoded."""

    block: int
    block_hash: Hash32
    trees: bytes

    def row(self) -> Row:
        """Return the row."""
        return tables.ROOTS, tables.number(self.block) + self.block_hash + self.trees


class BatchPath(NamedTuple):
    """The path from the root of a batch to the root over all chains, as of the L1 block that appended it."""

    l1_block: int
    batch_root: Hash32
    root: Hash32
    """That over all chains."""
    path_length: int
    """How many siblings the leaf of the batch has in the tree of its chain."""
    words: bytes
    """The words of a proof that follow those of the batch's own tree."""
    left_out: Mapping[int, bytes] = MappingProxyType({})
    """The leaves that are empty in that root of the batch, since L1 does not book their bundles, with its errors."""

    def pack(self) -> bytes:
        """Return the row."""
        head = tables.number(self.l1_block) + self.batch_root + self.root
        left_out = msgspec.msgpack.encode(dict(self.left_out)) if self.left_out else b""
        size = len(left_out).to_bytes(4)
        return head + bytes([self.path_length]) + size + left_out + self.words

    @classmethod
    def unpack(cls, row: bytes) -> BatchPath:
        """Read what `pack` writes."""
        words = _LEFT_OUT + int.from_bytes(row[_LEFT_OUT_SIZE])
        left_out = row[_LEFT_OUT:words]
        return cls(
            int.from_bytes(row[_BLOCK]),
            Hash32(row[_BATCH_ROOT]),
            Hash32(row[_ROOT]),
            row[_PATH_LENGTH],
            row[words:],
            msgspec.msgpack.decode(left_out, type=dict[int, bytes]) if left_out else {},
        )


class RootTable:
    """The roots that a chain imports, and the paths of its own batches; no write is synced: L1 has what is lost."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db

    def cursor(self) -> RootCursor | None:
        """Return how far L1 is read."""
        row = self._db.get(tables.ROOTS)
        if row is None:
            return None
        return RootCursor(int.from_bytes(row[:8]), Hash32(row[8:40]), row[40:])

    def last(self, block: int) -> InteropRoot | None:
        """Return the last root to import up to a block of L1."""
        found = self._db.last_at_most(tables.ROOT + tables.number(block), tables.ROOT)
        return None if found is None else _root(*found)

    def read(self, first: int, last: int, count: int) -> list[InteropRoot]:
        """Return up to `count` roots to import from block `first` to block `last` of L1, oldest first."""
        rows = self._db.read(tables.ROOT + tables.number(first), tables.ROOT, count)
        roots = [_root(*row) for row in rows]
        return [root for root in roots if root.block_number <= last]

    def path(self, batch: int) -> BatchPath | None:
        """Return the last path of a batch; None until L1 has appended its root."""
        prefix = tables.BATCH_PATH + tables.number(batch)
        found = self._db.last_at_most(prefix + tables.LAST_NUMBER, prefix)
        return None if found is None else BatchPath.unpack(found[1])

    def update(
        self,
        first: int,
        cursor: RootCursor,
        roots: Iterable[InteropRoot] = (),
        paths: Iterable[tuple[int, BatchPath]] = (),
    ) -> None:
        """Replace what is known of L1 from block `first` up to a cursor; above it paths are dropped, and roots stay."""
        rows = [cursor.row()]
        rows += [
            (
                tables.ROOT + tables.number(root.block_number),
                tables.number(root.chain_id) + tables.number(root.timestamp) + root.root,
            )
            for root in roots
        ]
        for batch, path in paths:
            number, at = tables.number(batch), tables.number(path.l1_block)
            rows += [
                (tables.BATCH_PATH + number + at, path.pack()),
                (tables.PATHS + at + number, b""),
            ]
        deleted = [*self._roots_between(first, cursor.block), *self._paths_from(first)]
        self._db.write(rows, deleted, sync=False, rewrites=len(rows) > 1 or bool(deleted))

    def drop_above(self, block: int) -> None:
        """Drop the paths that L1 made above a block, after it was reverted to that."""
        deleted = list(self._paths_from(block + 1))
        if deleted:
            self._db.write([], deleted)

    def restored(self, cursor: RootCursor | None) -> tuple[list[Row], list[bytes]]:
        """Return what is written and deleted to have read L1 up to an earlier cursor only."""
        if cursor is None:
            return [], [tables.ROOTS, *self._paths_from(0)]
        return [cursor.row()], list(self._paths_from(cursor.block + 1))

    def keys_of(self, batch: int) -> Iterator[bytes]:
        """Yield the keys of the paths of a batch."""
        prefix = tables.BATCH_PATH + tables.number(batch)
        start = prefix
        while (found := self._db.first_at_least(start, prefix)) is not None:
            yield found[0]
            start = found[0] + b"\0"

    def _roots_between(self, first: int, last: int) -> Iterator[bytes]:
        start = tables.ROOT + tables.number(first)
        end = tables.ROOT + tables.number(last)
        while (found := self._db.first_at_least(start, tables.ROOT)) and found[0] <= end:
            yield found[0]
            start = found[0] + b"\0"

    def _paths_from(self, first: int) -> Iterator[bytes]:
        start = tables.PATHS + tables.number(first)
        while (found := self._db.first_at_least(start, tables.PATHS)) is not None:
            key = found[0]
            yield key
            size = tables.NUMBER_SIZE
            yield tables.BATCH_PATH + key[-size:] + key[-2 * size : -size]
            start = key + b"\0"


def _root(key: bytes, row: bytes) -> InteropRoot:
    numbers = int.from_bytes(row[:8]), tables.block_of(key), int.from_bytes(row[8:16])
    return InteropRoot.of(*numbers, Hash32(row[16:]))
