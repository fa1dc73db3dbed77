"""Raw transactions that have arrived: decode them together, on all cores."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

from entresol.errors import PoolFull
from entresol.offload import POLICY
from entresol.primitives.transactions import decode, decode_many

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from concurrent.futures import Executor

    from entresol.chain.mempool import Mempool
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32

    Arrival: TypeAlias = tuple[bytes, asyncio.Future[Hash32]]
    """A raw transaction, and the response to its sender."""

MAX_DECODED: Final = 256
"""How many transactions are decoded at once; 256 transfers take 7 ms on two cores."""
INLINE_DECODED: Final = 8
"""How many are decoded on the event loop: a hop to a worker takes as long as two of them."""


class DecodeQueue:
    """The raw transactions that are still to be decoded, in the order of arrival.

    Remembers: as many of them as the limits of the pool allow. Fails: with `PoolFull`.
    """

    def __init__(self, pool: Mempool, executor: Executor | None) -> None:
        self._pool = pool
        self._executor = executor
        self._arrived: deque[Arrival] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._arrived)

    @property
    def is_long(self) -> bool:
        """Whether they are too long to be decoded on the event loop."""
        return self._bytes > POLICY.data_bytes

    def check_room(self, raw: bytes) -> None:
        """Raise `PoolFull` if there is no room for one more."""
        limits = self._pool.config
        if len(self._arrived) >= limits.limit or self._bytes + len(raw) > limits.limit_bytes:
            raise PoolFull

    def put(self, raw: bytes, response: asyncio.Future[Hash32]) -> None:
        """Append a raw transaction."""
        self._arrived.append((raw, response))
        self._bytes += len(raw)

    def take(self, count: int) -> list[Arrival]:
        """Remove and return the first ones, at most `count`."""
        taken = [self._arrived.popleft() for _ in range(min(count, len(self._arrived)))]
        self._bytes -= sum(len(raw) for raw, _ in taken)
        return taken

    def start_decoding(
        self,
    ) -> tuple[list[Arrival], Awaitable[Sequence[Transaction | Exception]]] | None:
        """Take what has arrived, and start to decode it; None if nothing has."""
        if not self._arrived:
            return None
        arrived = self.take(MAX_DECODED)
        raws = [raw for raw, _ in arrived]
        if len(raws) <= INLINE_DECODED and sum(map(len, raws)) <= POLICY.data_bytes:
            return arrived, _decode_inline(raws)
        loop = asyncio.get_running_loop()
        return arrived, loop.run_in_executor(self._executor, decode_many, raws)

    async def decode_blobs(self, raw: bytes) -> Transaction:
        """Decode a blob transaction beside the others, which do not wait for the verification of its proofs."""
        loop = asyncio.get_running_loop()
        self._bytes += len(raw)
        try:
            return await loop.run_in_executor(self._executor, decode, raw)
        finally:
            self._bytes -= len(raw)


async def _decode_inline(raws: list[bytes]) -> Sequence[Transaction | Exception]:
    return decode_many(raws)
