"""The data of batches that commits have published on L1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol._native import keccak256
from entresol.errors import LayerOneMismatch, MalformedValue
from entresol.primitives import abi
from entresol.primitives.published.limits import MAX_PUBLISHED_BYTES
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from entresol.l1.layer_one import L1Log, LayerOne
    from entresol.primitives.values import Address

FIRST_WINDOW: Final = 64
MAX_WINDOW: Final = 1_024
"""If every block has a commit of the maximum size, these are 130 MB."""
MANY_BYTES: Final = 16 << 20

BATCH_DATA: Final = Hash32(keccak256(b"BatchData(uint256,bytes)"))
_TOPICS: Final = 2


async def logs_in_windows(
    l1: LayerOne, address: Address, topics: Sequence[Hash32], first: int, last: int
) -> AsyncGenerator[L1Log, None]:
    """Yield the logs of a contract in a range of blocks, in order; as few blocks at a time as their logs are large."""
    window = FIRST_WINDOW
    while first <= last:
        until = min(last, first + window - 1)
        found = await l1.logs(address, topics, first, until)
        size = sum(len(log.data) for log in found)
        for log in found:
            yield log
        if size > MANY_BYTES:
            window = max(1, window // 2)
        elif size < MANY_BYTES // 4:
            window = min(2 * window, MAX_WINDOW)
        first = until + 1


class EventPosition(NamedTuple):
    """Where a log is on L1: its block by number and hash, and its index there."""

    block: int
    block_hash: Hash32
    log_index: int


class CommittedData(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a batch as one commit published it; after a revert there is another."""

    number: int
    data: bytes
    position: EventPosition
    transaction: Hash32


def decode_batch_data(log: L1Log) -> CommittedData:
    """Decode a `BatchData` event; raises `LayerOneMismatch` for one that no chain's contract emits."""
    position = EventPosition(log.block_number, log.block_hash, log.index)
    if len(log.topics) != _TOPICS or log.topics[0] != BATCH_DATA:
        raise _unreadable(position, "it is another event")
    try:
        (data,) = abi.decode("(bytes)", log.data)
    except MalformedValue as error:
        raise _unreadable(position, str(error)) from error
    if len(data) > MAX_PUBLISHED_BYTES:
        raise _unreadable(position, f"{len(data)} bytes are more than {MAX_PUBLISHED_BYTES}")
    return CommittedData(
        number=int.from_bytes(log.topics[1]),
        data=data,
        position=position,
        transaction=log.transaction_hash,
    )


def _unreadable(position: EventPosition, problem: str) -> LayerOneMismatch:
    return LayerOneMismatch(
        f"log {position.log_index} of L1 block {position.block} is not data of a batch: {problem}"
    )
