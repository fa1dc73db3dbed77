"""Submit transactions in the order of arrival, and respond once they are durable."""

from __future__ import annotations

import asyncio
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

from entresol.chain.mempool.validation import check_raw
from entresol.errors import InvalidTransaction, PoolRejection, StateMissing
from entresol.offload import POLICY, started
from entresol.primitives.transactions import BlobTransaction, ZkTransaction, decode, without_sidecar
from entresol.sequencer.account_validations import MAX_VALIDATIONS, AccountValidations
from entresol.sequencer.decode_queue import DecodeQueue, RawArrival, SenderTurns, Turn
from entresol.sequencer.inclusions import Inclusions, SendResponse
from entresol.state_missing import retried

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from concurrent.futures import Executor
    from typing import Any

    from entresol.chain.chain import Chain
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address, Hash32
    from entresol.sequencer.account_validations import Validation
    from entresol.sequencer.decode_queue import Arrival, Decoded
    from entresol.sequencer.sequencer import Sequencer

_T = TypeVar("_T")

_BLOB_PREFIX: Final = bytes([BlobTransaction.type])


class Submission:
    """The one queue of the transactions that clients send to a chain, in the order in which they arrive.

    Each goes one way, and waits at a stage only if it has to:

    1. It has arrived, raw: what a turn of the event loop brings is decoded together at its end.
    2. It is decoded. Most are added to the pool now; others delay from here on what their sender sends next, and
       nobody else.
    3. Its turn has come: what its sender has sent before is in the pool, or rejected.
    4. It is preceded: what was sent before and decides whether it is valid is sealed, as if each was sealed at once. It
       may pay for it, or make room. In stage 2 all that arrives waits for this.
    5. It is known: a fork has fetched what the pool reads, account and paymaster have agreed.
    6. It is in the pool, and has its response once its block is durable.

    With `hardhat_errors`, one that is in a block at once and has failed there is an error for its sender, though it
    stays in the block. Remembers: what has arrived, within the limits of the pool. Fails: with the rejections of the
    pool.
    """

    def __init__(
        self,
        chain: Chain,
        sequencer: Sequencer,
        executor: Executor | None = None,
        *,
        validations: AccountValidations | None = None,
        hardhat_errors: bool = False,
    ) -> None:
        self._chain = chain
        self._sequencer = sequencer
        self._arrived = DecodeQueue(chain.pool, executor)
        self._turns = SenderTurns()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_scheduled = False
        self._is_receiving = False
        self._begun = 0
        """Transactions of this turn that have left the queue, or were never in it."""
        self._was_single = True
        self._is_first = False
        """Whether the transaction that was sent last is the first of its turn, and nothing else is unsealed."""
        self._inclusions = Inclusions(chain, sequencer, hardhat_errors=hardhat_errors)
        self._unsealed = self._inclusions.unsealed
        self._validations = validations or AccountValidations(chain, executor)

    # What clients call

    def submit(self, raw: bytes, *, reports_failure: bool = True) -> asyncio.Future[Hash32]:
        """Submit a raw transaction, and return its hash, once its block is durable with automine."""
        check_raw(raw, self._chain.pool.rules)
        is_expected = self._validations.check_raw(raw)
        self._arrived.check_room(raw)
        response = SendResponse(reports_failure=reports_failure)
        if raw[:1] == _BLOB_PREFIX:
            # Its proofs are verified in its turn.
            self._park(raw, response, self.turn(decode(without_sidecar(raw)).sender))
            return response.future
        self._arrived.put(raw, response)
        if is_expected:
            self._validations.expect(response.future)
        self._schedule()
        return response.future

    def turn(self, sender: Address) -> Turn:
        """Take the next place in the queue for a transaction of a sender that is still to be made.

        The context begins once everything is added that arrived before and may be of this sender, whose next one is
        added after it.
        """
        turn = Turn(self._turns, sender)
        if self._arrived or self._is_receiving:
            self._arrived.put_call(turn.take)
        else:
            turn.take()
        return turn

    async def send(
        self, transaction: Transaction, *, reports_failure: bool = True
    ) -> asyncio.Future[Hash32]:
        """Add a transaction in the `turn` of its sender; return its hash, once its block is durable with automine."""
        response = SendResponse(reports_failure=reports_failure)
        self._is_first = self._is_free and not self._arrived
        self._begun += 1
        self._schedule()
        await self._add_in_turn(transaction, response)
        return response.future

    def flush(self) -> None:
        """Seal what was sent last before its turn ends, if it is the first, and the last turn brought no other.

        A client that sends one after the other saves the time of two turns.
        """
        if self._is_free and len(self._arrived) == 1:
            self._begun += 1
            self._receive_one()
        elif not self._is_first:
            return
        self._is_first = False
        self._sequencer.flush()

    # Arrived, and decoded together

    @property
    def _is_free(self) -> bool:
        """Whether a transaction that begins now is the first, and the last turn brought no other."""
        is_busy = self._begun or self._is_receiving or self._unsealed or self._arrived.is_long
        return self._was_single and not is_busy

    def _schedule(self) -> None:
        """Receive what arrives in this turn at its end."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._receive_turn)

    def _receive_turn(self) -> None:
        """Add what has arrived in a turn: now if it is one transaction and none is unsealed, else in a task."""
        self._was_single = len(self._arrived) + self._begun <= 1
        self._is_scheduled = self._is_first = False
        self._begun = 0
        is_long = self._arrived.is_long
        if len(self._arrived) > 1 or is_long or (self._arrived and self._unsealed):
            self._is_scheduled = self._is_receiving = True
            self._start(self._receive_all())
        elif self._arrived:
            self._receive_one()

    def _receive_one(self) -> None:
        arrival = self._arrived.take_one()
        decoded: Decoded
        try:
            decoded = decode(arrival.raw)
        except Exception as error:  # noqa: BLE001  # it is the sender's
            decoded = error
        waiting = started(self._add_arrival(arrival, decoded))
        # Nothing is unsealed that it could wait for.
        assert waiting is None
        self._inclusions.include()

    async def _receive_all(self) -> None:
        """Add all that arrives; the next part is decoded while the one before is added."""
        following = self._arrived.start_decoding()
        try:
            while following is not None:
                arrived, decoding = following
                decoded = await decoding
                following = self._arrived.start_decoding()
                await self._add_all(arrived, decoded)
                following = following or self._arrived.start_decoding()
        finally:
            self._is_scheduled = self._is_receiving = False

    async def _add_all(self, arrived: Sequence[Arrival], decoded: Sequence[Decoded]) -> None:
        end = perf_counter() + POLICY.batch_seconds
        for each, transaction in zip(arrived, decoded, strict=True):
            await self._add_arrival(each, transaction)
            if perf_counter() > end:
                await asyncio.sleep(0)
                end = perf_counter() + POLICY.batch_seconds
        self._inclusions.include()

    async def _add_arrival(self, arrival: Arrival, decoded: Decoded) -> None:
        if not isinstance(arrival, RawArrival):
            arrival()
        elif isinstance(decoded, Exception):
            arrival.response.fail(decoded)
        elif decoded is not None:
            await self._add_decoded(decoded, arrival.response)

    async def _add_decoded(self, transaction: Transaction, response: SendResponse) -> None:
        """Add a transaction if it needs no turn, as most do, or take the turn of its sender for it."""

        async def add() -> None:
            self._inclusions.add(transaction, response)

        try:
            if not self._needs_turn(transaction):
                await self._preceded(transaction, add)
                return
        except StateMissing:
            pass
        except Exception as error:  # noqa: BLE001  # it is the sender's
            response.fail(error)
            return
        turn = Turn(self._turns, transaction.sender)
        turn.take()
        self._park(transaction, response, turn)

    def _needs_turn(self, transaction: Transaction) -> bool:
        """Return whether others of the sender come first, or an account or a paymaster has to agree."""
        waiting = self._turns.count(transaction.sender)
        if waiting >= MAX_VALIDATIONS and isinstance(transaction.payload, ZkTransaction):
            raise PoolRejection(
                f"{MAX_VALIDATIONS} transactions of accounts are being validated already: try again"
            )
        return bool(waiting) or self._validations.are_needed(transaction)

    # In its turn, and in the pool

    def _park(self, sent: Transaction | bytes, response: SendResponse, turn: Turn) -> None:
        """Add a transaction once its turn comes; a raw one has blobs, whose proofs are verified then."""
        self._arrived.park(_size(sent))
        self._start(self._add_parked(sent, response, turn))

    async def _add_parked(
        self, sent: Transaction | bytes, response: SendResponse, turn: Turn
    ) -> None:
        try:
            async with turn:
                transaction = (
                    await self._arrived.decode_blobs(sent) if isinstance(sent, bytes) else sent
                )
                await self._add_in_turn(transaction, response)
        except Exception as error:  # noqa: BLE001  # it is the sender's
            response.fail(error)
        finally:
            self._arrived.unpark(_size(sent))

    async def _add_in_turn(self, transaction: Transaction, response: SendResponse) -> None:
        """Add a transaction whose turn has come, once all that has to agree to it does."""

        def add() -> None:
            self._inclusions.add(transaction, response)
            self._inclusions.include()

        def begin() -> Validation | None:
            validation = self._validations.prepare(transaction)
            if validation is None:
                add()
            return validation

        try:
            validation = await self._preceded(transaction, partial(retried, begin))
            if validation is not None:
                await self._validations.run(validation, add)
        except Exception as error:  # noqa: BLE001  # it is the sender's
            response.fail(error)

    async def _preceded(self, transaction: Transaction, add: Callable[[], Awaitable[_T]]) -> _T:
        """Add a transaction; if those before it decide whether it is valid, after they are sealed."""
        if self._unsealed.precede(transaction):
            await self._inclusions.all_sealed()
        try:
            return await add()
        except (InvalidTransaction, PoolRejection) as error:
            if not self._unsealed.may_make_valid(transaction, error):
                raise
        await self._inclusions.all_sealed()
        return await add()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _size(sent: Transaction | bytes) -> int:
    return len(sent) if isinstance(sent, bytes) else len(sent.raw)
