"""Arrivals that are to be added to the pool, in the order of each sender; raw transactions are decoded together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from entresol.errors import PoolRejection
from entresol.offload import POLICY
from entresol.primitives.transactions import decode, decode_many

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from concurrent.futures import Executor

    from entresol.chain.mempool import Mempool
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address
    from entresol.sequencer.inclusions import SendResponse


MAX_DECODED: Final = 256
"""How many transactions are decoded at once; 256 transfers take 7 ms on two cores."""
INLINE_DECODED: Final = 8
"""How many are decoded on the event loop: a hop to a thread takes as long as two of them."""


Decoded: TypeAlias = "Transaction | Exception | None"
"""The result of decoding a raw transaction; None for what is called."""


class RawArrival(NamedTuple):
    """A raw transaction, and the response to its sender."""

    raw: bytes
    response: SendResponse


Arrival: TypeAlias = RawArrival | Callable[[], None]
"""A raw transaction, or what is called when everything that has arrived before it is added."""


class DecodeQueue:
    """Arrivals that are still to be added, in their order. Fails: with `PoolRejection`."""

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
        """Raise `PoolRejection` if there is no room for one more."""
        limits = self._pool.config
        count, size = len(self._arrived) + self._parked, self._bytes + self._parked_bytes
        if count >= limits.limit or size + len(raw) > limits.limit_bytes:
            raise PoolRejection("txpool is full")

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

    def start_decoding(self) -> tuple[list[Arrival], Awaitable[Sequence[Decoded]]] | None:
        """Take what has arrived, and start to decode it; None if nothing has."""
        if not self._arrived:
            return None
        arrived = self._take(MAX_DECODED)
        raws = [arrival.raw for arrival in arrived if isinstance(arrival, RawArrival)]
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
        self._bytes -= sum(len(arrival.raw) for arrival in taken if isinstance(arrival, RawArrival))
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
        return [error if isinstance(arrival, RawArrival) else None for arrival in arrived]
    return [next(each) if isinstance(arrival, RawArrival) else None for arrival in arrived]


class Turn:
    """The place of a transaction among those of its sender: a context that begins once those before it have ended."""

    __slots__ = ("_begun", "_has_ended", "_turns", "sender")

    def __init__(self, turns: SenderTurns, sender: Address) -> None:
        self.sender = sender
        self._turns = turns
        self._begun: asyncio.Future[None] | None = None
        self._has_ended = False

    def take(self) -> None:
        """Take the last place; until then it does not begin."""
        if not self._has_ended:
            self._turns.append(self)

    def on_first(self) -> None:
        """Begin, because the turn before this one has ended."""
        if self._begun is not None and not self._begun.done():
            self._begun.set_result(None)

    async def __aenter__(self) -> None:
        if self._turns.is_first(self):
            return
        self._begun = asyncio.get_running_loop().create_future()
        try:
            await self._begun
        except BaseException:
            self._end()
            raise

    async def __aexit__(self, *_raised: object) -> None:
        self._end()

    def _end(self) -> None:
        self._has_ended = True
        self._turns.remove(self)


class SenderTurns:
    """The turns that have not ended, by sender and in the order in which they were taken."""

    def __init__(self) -> None:
        self._turns: dict[Address, deque[Turn]] = {}

    def count(self, sender: Address) -> int:
        """Return how many turns of a sender have not ended."""
        return len(self._turns.get(sender, ()))

    def append(self, turn: Turn) -> None:
        """Add the last turn of its sender."""
        turns = self._turns.setdefault(turn.sender, deque())
        turns.append(turn)
        if turns[0] is turn:
            turn.on_first()

    def is_first(self, turn: Turn) -> bool:
        """Return whether a turn was taken, and all of its sender before it have ended."""
        turns = self._turns.get(turn.sender)
        return turns is not None and turns[0] is turn

    def remove(self, turn: Turn) -> None:
        """Remove a turn if it was taken, and begin the one that is first then."""
        turns = self._turns.get(turn.sender)
        if turns is None or turn not in turns:
            return
        was_first = turns[0] is turn
        turns.remove(turn)
        if not turns:
            del self._turns[turn.sender]
        elif was_first:
            turns[0].on_first()
