"""What has arrived and is to be added to the pool, in order: raw transactions are decoded together, on all cores."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from entresol.errors import PoolFull
from entresol.offload import POLICY
from entresol.primitives.transactions import decode, decode_many

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from concurrent.futures import Executor

    from entresol.chain.mempool import Mempool
    from entresol.primitives.transactions import Transaction
    from entresol.sequencer.send_response import SendResponse

MAX_DECODED: Final = 256
"""How many transactions are decoded at once; 256 transfers take 7 ms on two cores."""
INLINE_DECODED: Final = 8
"""How many are decoded on the event loop: a hop to a worker takes as long as two of them."""


class RawArrival(NamedTuple):
    """A raw transaction, and the response to its sender."""

    raw: bytes
    response: SendResponse


Arrival: TypeAlias = RawArrival | Callable[[], None]
"""A raw transaction, or what is called when everything that has arrived before it is added."""
Decoded: TypeAlias = "Transaction | Exception | None"
"""What a raw transaction decodes to; None for what is called."""


class DecodeQueue:
    """What is still to be added, in the order of arrival.

    Remembers: as many raw transactions as the limits of the pool allow, with those that are parked elsewhere. Fails:
    with `PoolFull`.
    """

    def __init__(self, pool: Mempool, executor: Executor | None) -> None:
        self._pool = pool
        self._executor = executor
        self._arrived: deque[Arrival] = deque()
        self._bytes = 0
        self._parked = 0
        self._parked_bytes = 0

    def __len__(self) -> int:
        return len(self._arrived)

    @property
    def is_long(self) -> bool:
        """Whether they are too long to be decoded on the event loop."""
        return self._bytes > POLICY.data_bytes

    def check_room(self, raw: bytes) -> None:
        """Raise `PoolFull` if there is no room for one more."""
        limits = self._pool.config
        count, size = len(self._arrived) + self._parked, self._bytes + self._parked_bytes
        if count >= limits.limit or size + len(raw) > limits.limit_bytes:
            raise PoolFull

    def put(self, raw: bytes, response: SendResponse) -> None:
        """Append a raw transaction."""
        self._arrived.append(RawArrival(raw, response))
        self._bytes += len(raw)

    def put_call(self, call: Callable[[], None]) -> None:
        """Append what is called once everything before it is added."""
        self._arrived.append(call)

    def take_one(self) -> RawArrival:
        """Remove and return the only one, which is a raw transaction."""
        (arrival,) = self._take(1)
        assert isinstance(arrival, RawArrival)
        return arrival

    def park(self, size: int) -> None:
        """Count a transaction that waits elsewhere."""
        self._parked += 1
        self._parked_bytes += size

    def unpark(self, size: int) -> None:
        """Count a transaction no longer that has waited elsewhere."""
        self._parked -= 1
        self._parked_bytes -= size

    def start_decoding(
        self,
    ) -> tuple[list[Arrival], Awaitable[Sequence[Decoded]]] | None:
        """Take what has arrived, and start to decode it; None if nothing has."""
        if not self._arrived:
            return None
        arrived = self._take(MAX_DECODED)
        raws = [it.raw for it in arrived if isinstance(it, RawArrival)]
        decoding: Awaitable[Sequence[Transaction | Exception]]
        if len(raws) <= INLINE_DECODED and sum(map(len, raws)) <= POLICY.data_bytes:
            decoding = _decode_inline(raws)
        else:
            loop = asyncio.get_running_loop()
            decoding = loop.run_in_executor(self._executor, decode_many, raws)
        return arrived, _aligned(arrived, decoding)

    async def decode_blobs(self, raw: bytes) -> Transaction:
        """Decode a blob transaction beside the others, which do not wait for the verification of its proofs."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, decode, raw)

    def _take(self, count: int) -> list[Arrival]:
        taken = [self._arrived.popleft() for _ in range(min(count, len(self._arrived)))]
        self._bytes -= sum(len(it.raw) for it in taken if isinstance(it, RawArrival))
        return taken


async def _decode_inline(raws: list[bytes]) -> Sequence[Transaction | Exception]:
    return decode_many(raws)


async def _aligned(
    arrived: list[Arrival], decoding: Awaitable[Sequence[Transaction | Exception]]
) -> Sequence[Decoded]:
    """Return what each decodes to; an error of all is that of each."""
    try:
        each = iter(await decoding)
    except Exception as error:  # noqa: BLE001  # it is the senders'
        return [error if isinstance(it, RawArrival) else None for it in arrived]
    return [next(each) if isinstance(it, RawArrival) else None for it in arrived]
