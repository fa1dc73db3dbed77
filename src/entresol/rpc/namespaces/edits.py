"""The `entresol_` method for the edits of a block, which those who derive a chain need if L1 has only their hash."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Raw

from entresol.errors import BlockNotFound
from entresol.offload import Offload
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.published.edits import PublishedEdits
from entresol.primitives.values import Data, Hash32
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.render.hex import data, raw
from entresol.rpc.types.block_id import BlockId
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.storage.store_view import StoreView

MAX_PIECE_BYTES: Final = 1 << 20
"""How much of the edits one call returns."""
REMEMBERED_ENCODINGS: Final = 64
MAX_REMEMBERED_BYTES: Final = 256 << 20
"""How many encodings are remembered, and their bytes together: as many as derivation takes of a batch."""


class EntresolEdits:
    """The edits that developers have made before the transactions of a block.

    Remembers: the last encodings, of which clients read one piece after another.
    """

    prefix = "entresol"

    def __init__(self, resolver: BlockResolver, blocks: StoreView) -> None:
        self._resolver = resolver
        self._blocks = blocks
        self._encoded: BoundedMap[Hash32, bytes] = BoundedMap(
            REMEMBERED_ENCODINGS, max_weight=MAX_REMEMBERED_BYTES
        )
        self._lock = Lock()

    @method(BlockNotFound, served_by=ServedBy.BLOCK, past=Past.LOCAL)
    def get_edits(
        self, block: BlockId, offset: Number
    ) -> Annotated[Raw, Data] | Offload[Annotated[Raw, Data]] | None:
        """Return the published encoding of a block's edits from an offset on, at most 1 MiB of it; null without edits.

        It is the data of which L1 has only the hash if it is larger than a batch: `entresol derive --edits-from` reads
        it. From its end on it is empty.
        """
        record = self._blocks.record(self._resolver.inspected(block))
        if not record.edits:
            return None
        begin = int(offset)

        def work() -> Raw:
            encoded = self._encoding(record)
            return raw(data(encoded[begin : begin + MAX_PIECE_BYTES]))

        return Offload(work)

    def _encoding(self, record: BlockRecord) -> bytes:
        """Return the edits of a block, all of them; each piece needs them once more."""
        key = record.hash()
        with self._lock:
            known = self._encoded.touch(key)
        if known is not None:
            return known
        encoded = PublishedEdits.of(record.edits, record.codes).encode()
        with self._lock:
            self._encoded.put(key, encoded, len(encoded))
        return encoded
