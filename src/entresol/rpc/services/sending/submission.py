"""Submit transactions in the order of arrival, and respond once they are durable."""

from __future__ import annotations

import asyncio
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final

from entresol.chain.mempool.validation import check_raw
from entresol.errors import InvalidTransaction, PoolRejection
from entresol.offload import POLICY, Deferred
from entresol.primitives.transactions import BlobTransaction, decode
from entresol.rpc.services.sending.account_validations import AccountValidations
from entresol.rpc.services.sending.decode_queue import DecodeQueue
from entresol.rpc.services.sending.sent_failures import SentFailures
from entresol.rpc.services.sending.unsealed import UnsealedTransactions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from entresol.chain.chain import Chain
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32
    from entresol.rpc.services.sending.decode_queue import Arrival

_BLOB_PREFIX: Final = bytes([BlobTransaction.type])


class Submission:
    """Submits the transactions of clients, in the order in which they arrive, but blobs once they are verified.

    A turn of the event loop collects raw transactions, which are then decoded together. A transaction that the pool
    rejects while earlier ones are being sealed is tried again after them, as if each was sealed at once: they may pay
    for it, or make room. One that an account or a paymaster has to agree to is validated on a worker, and does not
    delay those behind it.

    With `hardhat_errors`, one that is in a block at once and has failed there is an error for its sender, though it
    stays in the block. Remembers: what has arrived, within the limits of the pool. Fails: with the rejections of the
    pool.
    """

    def __init__(
        self,
        chain: Chain,
        executor: Executor | None = None,
        *,
        validations: AccountValidations | None = None,
        hardhat_errors: bool = False,
    ) -> None:
        self._chain = chain
        self._arrived = DecodeQueue(chain.pool, executor)
        self._is_scheduled = False
        self._is_receiving = False
        self._begun = 0
        """Transactions of this turn that have left the queue, or were never in it."""
        self._was_single = True
        self._is_first = False
        """Whether the transaction that was sent last is the first of its turn, and nothing else is unsealed."""
        self._unsealed = UnsealedTransactions(chain.pool)
        self._added: list[tuple[Hash32, asyncio.Future[Hash32]]] = []
        self._validations = validations or AccountValidations(chain, executor)
        self._failures = SentFailures(chain) if hardhat_errors else None

    def submit(self, raw: bytes) -> Deferred[Hash32]:
        """Submit a raw transaction, and return its hash, once its block is durable with automine."""
        check_raw(raw, self._chain.pool.rules)
        is_expected = self._validations.check_raw(raw)
        self._arrived.check_room(raw)
        if raw[:1] == _BLOB_PREFIX:
            return Deferred(self._submit_blobs(raw))
        response: asyncio.Future[Hash32] = asyncio.get_running_loop().create_future()
        self._arrived.put(raw, response)
        if is_expected:
            self._validations.expect(response)
        self._schedule()
        return Deferred(response, self._receive_now)

    async def _submit_blobs(self, raw: bytes) -> Hash32:
        return await self.send(await self._arrived.decode_blobs(raw))

    async def send(self, transaction: Transaction) -> Hash32:
        """Submit a transaction, and return its hash, once its block is durable with automine."""
        response: asyncio.Future[Hash32] = asyncio.get_running_loop().create_future()
        is_first = self._is_free and not self._arrived
        self._begun += 1
        self._schedule()
        await self._add_in_order(transaction, response)
        self._include()
        self._is_first = is_first
        return await response

    def hurry(self) -> None:
        """Seal what was sent last before its turn ends, under the conditions of a raw transaction."""
        if self._is_first:
            self._is_first = False
            self._chain.seal_included()

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

    def _receive_now(self) -> None:
        """Add and seal a transaction before its turn ends, if it is the first, and the last turn brought no other.

        A client that sends one after the other saves the time of two turns.
        """
        if self._is_free and len(self._arrived) == 1:
            self._begun += 1
            self._receive_one(at_once=True)

    def _receive_turn(self) -> None:
        """Add what has arrived in a turn: now if it is one transaction and none is unsealed, else in a task."""
        self._was_single = len(self._arrived) + self._begun <= 1
        self._is_scheduled = self._is_first = False
        self._begun = 0
        is_long = self._arrived.is_long
        if len(self._arrived) > 1 or is_long or (self._arrived and self._unsealed):
            self._is_scheduled = self._is_receiving = True
            self._receiving = asyncio.get_running_loop().create_task(self._receive_all())
        elif self._arrived:
            self._receive_one()

    def _receive_one(self, *, at_once: bool = False) -> None:
        ((raw, response),) = self._arrived.take(1)
        try:
            transaction = decode(raw)
            if not self._is_validating(transaction, response):
                self._add(transaction, response)
        except Exception as error:  # noqa: BLE001  # it is the sender's
            _fail(response, error)
        self._include(at_once=at_once)

    def _is_validating(self, transaction: Transaction, response: asyncio.Future[Hash32]) -> bool:
        """Start to validate a transaction that an account or a paymaster has to agree to; return whether it is one."""

        def add() -> None:
            self._add(transaction, response)
            self._include()

        return self._validations.start(transaction, add, partial(_fail, response))

    async def _receive_all(self) -> None:
        """Add all that arrives; the next part is decoded while the one before is added."""
        following = self._arrived.start_decoding()
        try:
            while following is not None:
                arrived, decoding = following
                try:
                    decoded = await decoding
                except Exception as error:  # noqa: BLE001  # it is the senders'
                    decoded = [error] * len(arrived)
                following = self._arrived.start_decoding()
                await self._add_all(arrived, decoded)
                following = following or self._arrived.start_decoding()
        finally:
            self._is_scheduled = self._is_receiving = False

    async def _add_all(
        self, arrived: list[Arrival], decoded: Sequence[Transaction | Exception]
    ) -> None:
        end = perf_counter() + POLICY.batch_seconds
        for transaction, (_, response) in zip(decoded, arrived, strict=True):
            if isinstance(transaction, Exception):
                _fail(response, transaction)
            elif not self._add_now(transaction, response):
                await self._add_in_order(transaction, response)
            if perf_counter() > end:
                await asyncio.sleep(0)
                end = perf_counter() + POLICY.batch_seconds
        self._include()

    def _add_now(self, transaction: Transaction, response: asyncio.Future[Hash32]) -> bool:
        """Add a transaction that depends on none before it and is valid, as most are; return whether it is."""
        if self._unsealed.precede(transaction):
            return False
        try:
            if not self._is_validating(transaction, response):
                self._add(transaction, response)
        except (InvalidTransaction, PoolRejection):
            return False
        return True

    async def _add_in_order(
        self, transaction: Transaction, response: asyncio.Future[Hash32]
    ) -> None:
        """Add a transaction; if those before it decide whether it is valid, after they are sealed."""
        if self._unsealed.precede(transaction):
            await self._all_sealed()
        try:
            try:
                if not self._is_validating(transaction, response):
                    self._add(transaction, response)
            except (InvalidTransaction, PoolRejection) as error:
                if not self._unsealed.may_make_valid(transaction, error):
                    raise
                await self._all_sealed()
                if not self._is_validating(transaction, response):
                    self._add(transaction, response)
        except Exception as error:  # noqa: BLE001  # it is the sender's
            _fail(response, error)

    def _add(self, transaction: Transaction, response: asyncio.Future[Hash32]) -> None:
        sent = transaction.hash
        if not (self._chain.accepts_known and self._chain.is_known(sent)):
            self._chain.add(transaction, is_validated=True)
        self._unsealed.add(sent)
        self._added.append((sent, response))

    def _include(self, *, at_once: bool = False) -> None:
        """Have what was added sealed, all of it together, `at_once` or with what others add in this turn."""
        added, self._added = self._added, []
        for sent, response in added:
            self._chain.include(sent, partial(self._on_included, sent, response))
        if at_once and added:
            self._chain.seal_included()

    async def _all_sealed(self) -> None:
        self._include()
        await self._unsealed.wait_sealed()

    def _on_included(
        self, sent: Hash32, response: asyncio.Future[Hash32], error: Exception | None
    ) -> None:
        self._unsealed.remove(sent)
        if error is not None:
            _fail(response, error)
        elif self._failures is not None:
            # Not every subscriber has seen the event of the block yet.
            report = self._report_failure
            response.get_loop().call_soon(report, self._failures, sent, response)
        else:
            _respond(response, sent)

    def _report_failure(
        self, failures: SentFailures, sent: Hash32, response: asyncio.Future[Hash32]
    ) -> None:
        error = failures.error_of(sent)
        if error is None:
            _respond(response, sent)
        else:
            _fail(response, error)


def _respond(response: asyncio.Future[Hash32], sent: Hash32) -> None:
    # A client that has gone has cancelled it.
    if not response.done():
        response.set_result(sent)


def _fail(response: asyncio.Future[Hash32], error: Exception) -> None:
    if not response.done():
        response.set_exception(error)
