"""Submit transactions in the order of arrival, and respond once they are durable."""

from __future__ import annotations

import asyncio
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final

from entresol.chain.mempool.validation import check_raw
from entresol.errors import InvalidTransaction, PoolRejection, StateMissing, TooManyValidations
from entresol.offload import POLICY
from entresol.primitives.transactions import (
    BlobTransaction,
    ZkTransaction,
    decode,
    without_sidecar,
)
from entresol.sequencer.account_validations import MAX_VALIDATIONS, AccountValidations
from entresol.sequencer.decode_queue import BegunTurn, DecodeQueue, RawArrival, SenderTurns
from entresol.sequencer.inclusions import Inclusions, SendResponse
from entresol.state_missing import retried

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from concurrent.futures import Executor
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from entresol.chain.chain import Chain
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address, Hash32
    from entresol.sequencer.decode_queue import Arrival, Decoded, Turn
    from entresol.sequencer.sequencer import Sequencer

_BLOB_PREFIX: Final = bytes([BlobTransaction.type])


class Submission:
    """The one queue of the transactions that clients send to a chain, in the order in which they arrive.

    A turn of the event loop collects raw transactions, which are then decoded together. A transaction that the pool
    rejects while earlier ones are being sealed is tried again after them, as if each was sealed at once: they may pay
    for it, or make room. One that takes longer (it is filled in, its blobs are verified, an account or a paymaster
    has to agree to it) delays what its sender sends next, and nobody else.

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
            sender = decode(without_sidecar(raw)).sender
            self._park(raw, self._reserve(sender), response)
            return response.future
        self._arrived.put(raw, response)
        if is_expected:
            self._validations.expect(response.future)
        self._schedule()
        return response.future

    def turn(self, sender: Address) -> AbstractAsyncContextManager[Turn]:
        """Take the next place in the queue for a transaction of a sender that is still to be made.

        The context begins once everything is added that arrived before and may be of this sender, whose next one is
        added after it.
        """
        return BegunTurn(self._reserve(sender))

    async def send(
        self, transaction: Transaction, turn: Turn, *, reports_failure: bool = True
    ) -> asyncio.Future[Hash32]:
        """Add a transaction in the turn of its sender; return its hash, once its block is durable with automine."""
        response = SendResponse(reports_failure=reports_failure)
        is_first = self._is_free and not self._arrived
        self._begun += 1
        self._schedule()
        await self._add_in_order(transaction, response, turn)
        self._inclusions.include()
        self._is_first = is_first
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

    # In order

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
        raw, response = self._arrived.take_one()
        try:
            transaction = decode(raw)
            try:
                self._add(transaction, response)
            except StateMissing:
                self._park(transaction, self._turns.take(transaction.sender), response)
        except Exception as error:  # noqa: BLE001  # it is the sender's
            response.fail(error)
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

    async def _add_all(self, arrived: list[Arrival], decoded: Sequence[Decoded]) -> None:
        end = perf_counter() + POLICY.batch_seconds
        for transaction, arrival in zip(decoded, arrived, strict=True):
            if not isinstance(arrival, RawArrival):
                arrival()
            elif isinstance(transaction, Exception):
                arrival.response.fail(transaction)
            elif transaction is not None and not self._add_now(transaction, arrival.response):
                await self._add_in_order(transaction, arrival.response)
            if perf_counter() > end:
                await asyncio.sleep(0)
                end = perf_counter() + POLICY.batch_seconds
        self._inclusions.include()

    def _add_now(self, transaction: Transaction, response: SendResponse) -> bool:
        """Add a transaction that depends on none before it and is valid, as most are; return whether it is."""
        if self._unsealed.precede(transaction):
            return False
        try:
            self._add(transaction, response)
        except StateMissing:
            self._park(transaction, self._turns.take(transaction.sender), response)
        except (InvalidTransaction, PoolRejection):
            return False
        return True

    def _add(
        self, transaction: Transaction, response: SendResponse, turn: Turn | None = None
    ) -> None:
        """Add a transaction to the pool, or park it; raise `StateMissing` if a fork has to fetch its sender first."""
        if not self._is_parked(transaction, response, turn):
            self._inclusions.add(transaction, response)

    async def _add_in_order(
        self, transaction: Transaction, response: SendResponse, turn: Turn | None = None
    ) -> None:
        """Add a transaction; if those before it decide whether it is valid, after they are sealed."""
        if self._unsealed.precede(transaction):
            await self._inclusions.all_sealed()
        try:
            add = partial(self._add, transaction, response, turn)
            try:
                await self._add_fetched(add, transaction, response, turn)
            except (InvalidTransaction, PoolRejection) as error:
                if not self._unsealed.may_make_valid(transaction, error):
                    raise
                await self._inclusions.all_sealed()
                await self._add_fetched(add, transaction, response, turn)
        except Exception as error:  # noqa: BLE001  # it is the sender's
            response.fail(error)

    async def _add_fetched(
        self,
        add: Callable[[], None],
        transaction: Transaction,
        response: SendResponse,
        turn: Turn | None,
    ) -> None:
        """Add a transaction after a fork has fetched what the pool reads; without a turn it is parked, to delay nobody."""
        if turn is not None:
            await retried(add)
            return
        try:
            add()
        except StateMissing:
            self._park(transaction, self._turns.take(transaction.sender), response)

    # What takes longer

    def _reserve(self, sender: Address) -> Turn | asyncio.Future[Turn]:
        """Take the turn of a sender: now, or when everything that arrived before is added."""
        if not (self._arrived or self._is_receiving):
            return self._turns.take(sender)
        taken: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()

        def take() -> None:
            if not taken.done():
                taken.set_result(self._turns.take(sender))

        self._arrived.put_call(take)
        return taken

    def _park(
        self,
        sent: Transaction | bytes,
        reserved: Turn | asyncio.Future[Turn],
        response: SendResponse,
    ) -> None:
        """Add a transaction once its turn comes; a raw one has blobs, whose proofs are verified then."""
        self._arrived.park(_size(sent))
        self._start(self._add_parked(sent, reserved, response))

    async def _add_parked(
        self,
        sent: Transaction | bytes,
        reserved: Turn | asyncio.Future[Turn],
        response: SendResponse,
    ) -> None:
        try:
            async with BegunTurn(reserved) as turn:
                transaction = (
                    await self._arrived.decode_blobs(sent) if isinstance(sent, bytes) else sent
                )
                await self._add_in_order(transaction, response, turn)
                self._inclusions.include()
        except Exception as error:  # noqa: BLE001  # it is the sender's
            response.fail(error)
        finally:
            self._arrived.unpark(_size(sent))

    def _is_parked(
        self, transaction: Transaction, response: SendResponse, turn: Turn | None = None
    ) -> bool:
        """Park a transaction whose turn has not come, or that is validated first; return whether it is one."""
        if turn is None and self._turns and (waiting := self._turns.count(transaction.sender)):
            if waiting >= MAX_VALIDATIONS and isinstance(transaction.payload, ZkTransaction):
                raise TooManyValidations(MAX_VALIDATIONS)
            self._park(transaction, self._turns.take(transaction.sender), response)
            return True
        return self._is_validating(transaction, response, turn)

    def _is_validating(
        self, transaction: Transaction, response: SendResponse, turn: Turn | None
    ) -> bool:
        """Start to validate a transaction that an account or a paymaster has to agree to; return whether it is one."""

        def add() -> None:
            self._inclusions.add(transaction, response)
            self._inclusions.include()
            held.release()

        def fail(error: Exception) -> None:
            # Also of what `add` raises.
            held.release()
            response.fail(error)

        if not self._validations.start(transaction, add, fail):
            return False
        held = self._turns.take(transaction.sender) if turn is None else turn.hold()
        return True

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _size(sent: Transaction | bytes) -> int:
    return len(sent) if isinstance(sent, bytes) else len(sent.raw)
