"""What L1 says of a batch, and the batch that its data decodes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol._native import keccak256
from entresol.errors import DerivationAlarm, UnderivableBatch, UnreadableData
from entresol.primitives.published.body import PublishedBatch, decode_body
from entresol.primitives.published.compression import decompress
from entresol.primitives.values import Hash32
from entresol.rollup.batches import stored_info_of

if TYPE_CHECKING:
    from entresol.primitives.batches import Batch


class BatchClaim(msgspec.Struct, frozen=True, kw_only=True):
    """What L1 says of a committed batch, in its logs."""

    number: int
    state_root: Hash32
    commitment: Hash32
    """Of timestamps, data, deposits, messages and imported roots."""
    first_block: int
    last_block: int
    data: bytes
    """What it publishes; empty if there is nothing."""

    def read(self) -> PublishedBatch:
        """Decode the data; raise `UnderivableBatch` for anything but a batch with this number and these blocks."""
        if not self.data:
            raise UnderivableBatch(self.number, "data", "nothing published", "no blocks")
        try:
            batch = decode_body(decompress(self.data))
        except UnreadableData as error:
            raise self.underivable(error.field, str(error)) from error
        header = batch.header
        self.check("number", self.number, header.number)
        self.check("first_block", self.first_block, header.first_block)
        self.check("last_block", self.last_block, header.first_block + len(batch.blocks) - 1)
        return batch

    def check(self, field: str, expected: object, found: object) -> None:
        """Raise `DerivationAlarm` unless what L1 says is what was found."""
        if expected != found:
            raise DerivationAlarm(self.number, field, expected, found)

    def check_sealed(self, batch: Batch, chain_id: int) -> None:
        """Raise `DerivationAlarm` unless a batch that was sealed here is the one that L1 has."""
        self.check("state_root", self.state_root, Hash32(batch.state_root))
        self.check("commitment", self.commitment, stored_info_of(batch, chain_id).commitment)

    def underivable(self, field: str, problem: str) -> UnderivableBatch:
        """Return the alarm for data from which no blocks follow."""
        data = f"{len(self.data)} bytes of data with the hash 0x{keccak256(self.data).hex()}"
        return UnderivableBatch(self.number, field, data, problem)
