"""Validate transactions that an account or a paymaster has to agree to, on a worker and one at a time."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from entresol.errors import (
    AccountRejection,
    InvalidTransaction,
    PoolRejection,
    TooManyValidations,
)
from entresol.execution.account_senders import has_code
from entresol.execution.account_validation import runs_in_steps
from entresol.execution.involved import Involved
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.transactions import ZkTransaction
from entresol.sequencer.validation_budget import ValidationBudget

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from entresol.chain.chain import Chain
    from entresol.execution.rejected_work import RejectedTransaction
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32

MAX_VALIDATIONS: Final = 64
"""How many transactions of accounts, or with paymasters, may be queued for validation; one is validated at a time."""

_MAX_FAILED: Final = 4_096
"""Of how many transactions it is known that they have failed: anybody can send them again."""
_ZK_PREFIX: Final = bytes([ZkTransaction.type])


class AccountValidations:
    """Runs validations in the background, for all methods that submit transactions.

    What a block rejects counts as a validation that has failed. Remembers: those in progress, and what failed ones have
    taken. Persists: nothing. Assumes: one event loop. Fails:
    with `TooManyValidations`, `ValidationsThrottled`, and what the pool rejects a transaction for before it is
    validated.
    """

    def __init__(
        self, chain: Chain, executor: Executor | None, budget: ValidationBudget | None = None
    ) -> None:
        self._chain = chain
        self._executor = executor
        self._budget = ValidationBudget() if budget is None else budget
        self._tasks: set[asyncio.Task[None]] = set()
        self._expected = 0
        self._failed: BoundedMap[Hash32, bool] = BoundedMap(_MAX_FAILED)
        self._one = asyncio.Semaphore(1)
        chain.rejections.listen(self._on_rejected)

    def forget_failures(self) -> None:
        """Count failed validations anew."""
        self._budget.clear()
        self._failed.clear()

    def check_raw(self, raw: bytes) -> bool:
        """Reject a raw transaction that would be throttled, before it is decoded; return whether to `expect` it.

        The less is left of its budget, the fewer are let through at once: most of them would be decoded in vain.
        """
        penalties = self._chain.pool.penalties
        if raw[:1] != _ZK_PREFIX or (self._budget.is_unused and not len(penalties)):
            return False
        involved = Involved.of_raw(raw)
        if involved is None:
            return False
        penalties.check_involved(involved)
        if involved.paymaster is None and not has_code(self._chain.latest, involved.sender):
            return False
        left = self._budget.check_unread(involved)
        limit = math.ceil(MAX_VALIDATIONS * left)
        if left == 1:
            # It is decoded to see whose it is, and costs no more than a bad signature.
            return False
        if self._expected >= limit:
            raise TooManyValidations(limit)
        return True

    def expect(self, response: asyncio.Future[Any]) -> None:
        """Count a raw transaction until it has its response."""
        self._expected += 1
        response.add_done_callback(self._on_response)

    def _on_response(self, _response: asyncio.Future[Any]) -> None:
        self._expected -= 1

    def start(
        self,
        transaction: Transaction,
        add: Callable[[], None],
        on_error: Callable[[Exception], None],
    ) -> bool:
        """Validate a transaction if an account or a paymaster has to agree to it, and `add` it; return whether one has."""
        payload = transaction.payload
        if not isinstance(payload, ZkTransaction):
            return False
        if not runs_in_steps(transaction, self._chain.latest):
            return False
        involved = self._involved(transaction)
        self._budget.check(involved)
        if len(self._tasks) >= MAX_VALIDATIONS:
            raise TooManyValidations(MAX_VALIDATIONS)
        validation = self._chain.validation(transaction)
        if validation is None:
            return False
        work = self._validate(transaction.hash, involved, validation, add, on_error)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def validate(self, transaction: Transaction) -> None:
        """Validate a transaction if an account or a paymaster has to agree to it; raise what it is rejected for."""
        ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

        def end(error: Exception | None = None) -> None:
            # A client that has gone has cancelled it.
            if not ended.done():
                ended.set_result(error)

        if self.start(transaction, end, end) and (error := await ended) is not None:
            raise error

    async def _validate(
        self,
        transaction_hash: Hash32,
        involved: Involved,
        validation: Callable[[], None],
        add: Callable[[], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        try:
            async with self._one:
                # Those before it may have failed.
                self._budget.check(involved)
                seconds = await self._run(transaction_hash, involved, validation)
            self._budget.passed(involved)
            try:
                add()
            except (InvalidTransaction, PoolRejection) as error:
                # It was validated in vain.
                self._budget.failed(involved, error, seconds)
                raise
        except Exception as error:  # noqa: BLE001  # it is the sender's
            on_error(error)

    async def _run(
        self, transaction_hash: Hash32, involved: Involved, validation: Callable[[], None]
    ) -> float:
        """Run a validation on a worker, and return the time that it took; raise why it has failed."""
        loop = asyncio.get_running_loop()
        ended = await loop.run_in_executor(self._executor, _timed, validation)
        if ended.error is None:
            return ended.seconds
        if isinstance(ended.error, AccountRejection):
            self._failed.put(transaction_hash, True)  # noqa: FBT003  # the value of a map
            self._budget.failed(involved, ended.error, ended.seconds)
        raise ended.error

    def _involved(self, transaction: Transaction) -> Involved:
        """Return who takes part; what has failed before says nothing of who sends it again."""
        involved = Involved.of_signed(transaction)
        has_failed = self._failed.get(transaction.hash) is not None
        return involved._replace(signer=None) if has_failed else involved

    def _on_rejected(self, rejected: RejectedTransaction) -> None:
        """Count what a block has executed in vain."""
        payload, error = rejected.transaction.payload, rejected.error
        if isinstance(payload, ZkTransaction) and isinstance(error, AccountRejection):
            involved = self._involved(rejected.transaction)
            self._failed.put(rejected.transaction.hash, True)  # noqa: FBT003  # the value of a map
            self._budget.failed(involved, error, rejected.seconds)


class _Ended(NamedTuple):
    """How a validation has ended, and the time of its thread."""

    error: Exception | None
    seconds: float


def _timed(validation: Callable[[], None]) -> _Ended:
    start, error = time.thread_time(), None
    try:
        validation()
    except Exception as raised:  # noqa: BLE001  # it is raised where the time is recorded
        error = raised
    return _Ended(error, time.thread_time() - start)
