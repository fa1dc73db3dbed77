"""L2-to-L1 logs, which are the leaves of a batch's message tree, and their proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol import _native
from entresol._native import keccak256
from entresol.errors import MalformedValue
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol._native import Log

PACKED_FIELDS: Final = {
    "shard_id": 1, "is_service": 1, "tx_number": 2, "sender": 20, "key": 32, "value": 32,
}  # fmt: skip
"""The fields of a packed log with their sizes, in the order in which L1 hashes them."""
PACKED_SIZE: Final = sum(PACKED_FIELDS.values())
TREE_DEPTH: Final = 14
MAX_LOGS_PER_BATCH: Final = 1 << TREE_DEPTH
"""The leaves of a batch's message tree, and so the maximum for a block."""

BOOTLOADER: Final = Address(_native.BOOTLOADER)
L1_MESSENGER: Final = Address.parse("0x0000000000000000000000000000000000008008")

L1_MESSAGE_SENT: Final = Hash32(keccak256(b"L1MessageSent(address,bytes32,bytes)"))
DEFAULT_LEAF: Final = Hash32(keccak256(bytes(PACKED_SIZE)))

SUCCEEDED: Final = Hash32((1).to_bytes(32))
FAILED: Final = Hash32.zero()


class L2ToL1Log(msgspec.Struct, frozen=True, kw_only=True):
    """A log that can be proven on L1 once its batch is executed there."""

    shard_id: int = 0
    is_service: bool = True
    tx_number: int
    sender: Address
    key: Hash32
    value: Hash32

    @classmethod
    def of_status(cls, tx_number: int, tx_hash: Hash32, *, succeeded: bool) -> Self:
        """Return the bootloader's log of a priority transaction's status."""
        value = SUCCEEDED if succeeded else FAILED
        return cls(tx_number=tx_number, sender=BOOTLOADER, key=tx_hash, value=value)

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """Decode the 88 bytes that `pack` writes."""
        if len(packed) != PACKED_SIZE:
            raise MalformedValue(f"an L2-to-L1 log is {PACKED_SIZE} bytes, got {len(packed)}")
        if packed[1] > 1:
            raise MalformedValue(f"a flag is 0 or 1, got {packed[1]}", field="isService")
        return cls(
            shard_id=packed[0],
            is_service=packed[1] == 1,
            tx_number=int.from_bytes(packed[2:4]),
            sender=Address(packed[4:24]),
            key=Hash32(packed[24:56]),
            value=Hash32(packed[56:]),
        )

    def pack(self) -> bytes:
        """Return the 88 bytes that L1 hashes."""
        head = bytes([self.shard_id, self.is_service]) + self._tx_number_bytes()
        return head + self.sender + self.key + self.value

    def leaf(self) -> Hash32:
        """Return the log's leaf in the message tree of its batch."""
        return Hash32(keccak256(self.pack()))

    def _tx_number_bytes(self) -> bytes:
        try:
            return self.tx_number.to_bytes(2)
        except OverflowError:
            problem = f"a batch has at most 65536 transactions, got number {self.tx_number}"
            raise MalformedValue(problem, field="txNumberInBatch") from None


class LogProof(msgspec.Struct, frozen=True, kw_only=True):
    """The Merkle proof of a log in the message tree of its batch."""

    id: int
    """The index of the log's leaf."""
    root: Hash32
    """The message root of the batch, which L1 stores when it executes the batch."""
    words: tuple[bytes, ...]
    """The proof as contracts decode it: metadata, siblings from the leaf up, aggregated root; each part is of whole words.

    For another L2, what leads from the batch to the root over all chains follows.
    """
    l1_block: int | None = None
    """The L1 block with that root, if the proof is for another L2; `root` is the one over all chains then."""


class ProvenLog(msgspec.Struct, frozen=True):
    """A log, the number of its batch, and its proof."""

    batch: int
    packed: bytes
    proof: LogProof

    @property
    def log(self) -> L2ToL1Log:
        """The log."""
        return L2ToL1Log.unpack(self.packed)


class TreeNotBuilt(Exception):  # noqa: N818 - no error: the proof is made elsewhere
    """A proof needs a message tree that takes long to build."""


def message_logs(logs: Iterable[Log], tx_number: int) -> Iterator[bytes]:
    """Yield the packed log of each message that a transaction sent through the L1 messenger."""
    for address, topics, _ in logs:
        if address == L1_MESSENGER and topics[:1] == (L1_MESSAGE_SENT,) and len(topics) == 3:
            yield L2ToL1Log(
                tx_number=tx_number,
                sender=L1_MESSENGER,
                key=Hash32(topics[1]),
                value=Hash32(topics[2]),
            ).pack()
