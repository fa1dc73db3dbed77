"""Submit transactions: decode those that arrive together on all cores, and respond once they are durable."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeAlias

from entresol.chain.events import BlockSealed
from entresol.chain.mempool.validation import check_raw, check_transaction
from entresol.errors import (
    ExecutionReverted,
    InvalidTransaction,
    NonceTooLow,
    PoolFull,
    PoolRejection,
    TooManyValidations,
    TransactionFailed,
)
from entresol.execution.reverts import hardhat_text
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.transactions import BlobTransaction, decode, decode_many
from entresol.rpc.jsonrpc.offload import POLICY, Deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from entresol.chain.chain import Chain
    from entresol.errors import ExecutionFailed
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32

    _Arrival: TypeAlias = tuple[bytes, asyncio.Future[Hash32]]

MAX_DECODED: Final = 256
"""How many transactions are decoded at once; 256 transfers take 7 ms on two cores."""
INLINE_DECODED: Final = 8
"""How many are decoded on the event loop: a hop to a worker takes as long as two of them."""
MAX_UNSEALED: Final = 4_096
"""How many may be in the pool before their blocks are sealed: others in the pool are not evicted for them."""
MAX_FAILURES: Final = 64
"""Of how many blocks failures are remembered, until senders have their responses."""


_BLOB_PREFIX: Final = bytes([BlobTransaction.type])
MAX_VALIDATIONS: Final = 64
"""How many transactions of accounts, or with paymasters, may be validated or wait for it; one is at a time."""


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
        self, chain: Chain, executor: Executor | None = None, *, hardhat_errors: bool = False
    ) -> None:
        self._chain = chain
        self._executor = executor
        self._arrived: deque[_Arrival] = deque()
        self._arrived_bytes = 0
        self._is_scheduled = False
        self._unsealed: set[Hash32] = set()
        self._added: list[tuple[Hash32, asyncio.Future[Hash32]]] = []
        self._sealed: asyncio.Event | None = None
        self._failures: BoundedMap[int, Mapping[int, ExecutionFailed]] = BoundedMap(MAX_FAILURES)
        self._validations: set[asyncio.Task[None]] = set()
        self._validating = asyncio.Semaphore(1)
        self._hardhat_errors = hardhat_errors
        if hardhat_errors:
            self._events = chain.events.subscribe(wake=self._on_event)

    def submit(self, raw: bytes) -> Deferred[Hash32]:
        """Submit a raw transaction, and return its hash, once its block is durable with automine."""
        check_raw(raw, self._chain.pool.rules)
        limits = self._chain.pool.config
        if (
            len(self._arrived) >= limits.limit
            or self._arrived_bytes + len(raw) > limits.limit_bytes
        ):
            raise PoolFull
        if raw[:1] == _BLOB_PREFIX:
            return Deferred(self._submit_blobs(raw))
        loop = asyncio.get_running_loop()
        response: asyncio.Future[Hash32] = loop.create_future()
        self._arrived.append((raw, response))
        self._arrived_bytes += len(raw)
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._receive_turn)
        return Deferred(response)

    async def _submit_blobs(self, raw: bytes) -> Hash32:
        """Submit a blob transaction; others do not wait for the verification of its proofs."""
        loop = asyncio.get_running_loop()
        self._arrived_bytes += len(raw)
        try:
            transaction = await loop.run_in_executor(self._executor, decode, raw)
        finally:
            self._arrived_bytes -= len(raw)
        return await self.send(transaction)

    async def send(self, transaction: Transaction) -> Hash32:
        """Submit a transaction, and return its hash, once its block is durable with automine."""
        response: asyncio.Future[Hash32] = asyncio.get_running_loop().create_future()
        await self._add_in_order(transaction, response)
        self._include()
        return await response

    def _receive_turn(self) -> None:
        """Add what has arrived in a turn: now if it is one transaction and none is unsealed, else in a task."""
        if len(self._arrived) > 1 or self._unsealed:
            self._receiving = asyncio.get_running_loop().create_task(self._receive_all())
            return
        (raw, response), *_ = self._take(1)
        self._is_scheduled = False
        try:
            transaction = decode(raw)
            if not self._is_validating(transaction, response):
                self._add(transaction, response)
        except Exception as error:  # noqa: BLE001  # it is the sender's
            _fail(response, error)
        self._include()

    def _is_validating(self, transaction: Transaction, response: asyncio.Future[Hash32]) -> bool:
        """Start to validate a transaction that an account or a paymaster has to agree to; return whether it is one."""
        validation = self._chain.validation(transaction)
        if validation is None:
            return False
        if len(self._validations) >= MAX_VALIDATIONS:
            raise TooManyValidations(MAX_VALIDATIONS)
        task = asyncio.get_running_loop().create_task(
            self._validate(transaction, response, validation)
        )
        self._validations.add(task)
        task.add_done_callback(self._validations.discard)
        return True

    async def _validate(
        self,
        transaction: Transaction,
        response: asyncio.Future[Hash32],
        validation: Callable[[], None],
    ) -> None:
        try:
            async with self._validating:
                await asyncio.get_running_loop().run_in_executor(self._executor, validation)
            self._add(transaction, response)
        except Exception as error:  # noqa: BLE001  # it is the sender's
            _fail(response, error)
        self._include()

    async def _receive_all(self) -> None:
        try:
            while self._arrived:
                await self._receive_part(self._take(MAX_DECODED))
        finally:
            self._is_scheduled = False

    async def _receive_part(self, arrived: list[_Arrival]) -> None:
        try:
            decoded: Sequence[Transaction | Exception] = await self._decoded(
                [raw for raw, _ in arrived]
            )
        except Exception as error:  # noqa: BLE001  # it is the senders'
            decoded = [error] * len(arrived)
        end = perf_counter() + POLICY.batch_seconds
        for transaction, (_, response) in zip(decoded, arrived, strict=True):
            if isinstance(transaction, Exception):
                _fail(response, transaction)
            else:
                await self._add_in_order(transaction, response)
            if perf_counter() > end:
                await asyncio.sleep(0)
                end = perf_counter() + POLICY.batch_seconds
        self._include()

    def _take(self, count: int) -> list[_Arrival]:
        taken = [self._arrived.popleft() for _ in range(min(count, len(self._arrived)))]
        self._arrived_bytes -= sum(len(raw) for raw, _ in taken)
        return taken

    async def _decoded(self, raws: list[bytes]) -> Sequence[Transaction | Exception]:
        if len(raws) <= INLINE_DECODED and sum(map(len, raws)) <= POLICY.data_bytes:
            return decode_many(raws)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, decode_many, raws)

    async def _add_in_order(
        self, transaction: Transaction, response: asyncio.Future[Hash32]
    ) -> None:
        """Add a transaction; if those before it decide whether it is valid, after they are sealed."""
        limit = min(MAX_UNSEALED, self._chain.pool.config.limit // 2)
        if self._replaces(transaction) or len(self._unsealed) > limit:
            await self._all_sealed()
        try:
            try:
                if not self._is_validating(transaction, response):
                    self._add(transaction, response)
            except (InvalidTransaction, PoolRejection) as error:
                if not self._may_be_valid_later(transaction, error):
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

    def _include(self) -> None:
        """Have what was added sealed, all of it together."""
        added, self._added = self._added, []
        for sent, response in added:
            self._chain.include(sent, partial(self._on_included, sent, response))

    def _replaces(self, transaction: Transaction) -> bool:
        """Return whether a transaction with the same nonce is being sealed, which comes first."""
        if not self._unsealed:
            return False
        same = self._chain.pool.find(transaction.sender, transaction.payload.nonce)
        return same is not None and same.hash in self._unsealed

    def _may_be_valid_later(self, transaction: Transaction, error: Exception) -> bool:
        """Return whether a rejected transaction may be valid once those before it are sealed."""
        if not self._unsealed or isinstance(error, NonceTooLow):
            return False
        try:
            check_transaction(transaction, self._chain.pool.rules)
        except InvalidTransaction:
            return False
        return True

    async def _all_sealed(self) -> None:
        self._include()
        if self._unsealed:
            self._sealed = self._sealed or asyncio.Event()
            await self._sealed.wait()

    def _on_included(
        self, sent: Hash32, response: asyncio.Future[Hash32], error: Exception | None
    ) -> None:
        self._unsealed.discard(sent)
        if not self._unsealed and self._sealed is not None:
            self._sealed.set()
            self._sealed = None
        if error is not None:
            _fail(response, error)
        elif self._hardhat_errors:
            # Not every subscriber has seen the event of the block yet.
            response.get_loop().call_soon(self._report_failure, sent, response)
        else:
            _respond(response, sent)

    def _report_failure(self, sent: Hash32, response: asyncio.Future[Hash32]) -> None:
        location = self._chain.blocks.locate_transaction(sent)
        failures = None if location is None else self._failures.get(location.block_number)
        failure = failures.get(location.transaction_index) if location and failures else None
        if failure is None:
            _respond(response, sent)
            return
        data = failure.data if isinstance(failure, ExecutionReverted) else b""
        _fail(response, TransactionFailed(hardhat_text(failure), sent, data))

    def _on_event(self) -> None:
        for event in self._events.take()[0]:
            if isinstance(event, BlockSealed) and event.failures:
                self._failures.put(event.number, event.failures)


def _respond(response: asyncio.Future[Hash32], sent: Hash32) -> None:
    # A client that has gone has cancelled it.
    if not response.done():
        response.set_result(sent)


def _fail(response: asyncio.Future[Hash32], error: Exception) -> None:
    if not response.done():
        response.set_exception(error)
