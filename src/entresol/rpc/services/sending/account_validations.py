"""Validate transactions that an account or a paymaster has to agree to, on a worker and one at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from entresol.errors import TooManyValidations

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from entresol.chain.chain import Chain
    from entresol.primitives.transactions import Transaction

MAX_VALIDATIONS: Final = 64
"""How many transactions of accounts, or with paymasters, may be validated or wait for it; one is at a time."""


class AccountValidations:
    """Runs validations in the background.

    Remembers: those in progress. Persists: nothing. Assumes: one event loop. Fails: with `TooManyValidations`, and with
    what the pool rejects a transaction for before it is validated.
    """

    def __init__(self, chain: Chain, executor: Executor | None) -> None:
        self._chain = chain
        self._executor = executor
        self._tasks: set[asyncio.Task[None]] = set()
        self._one = asyncio.Semaphore(1)

    def start(
        self,
        transaction: Transaction,
        add: Callable[[], None],
        on_error: Callable[[Exception], None],
    ) -> bool:
        """Validate a transaction if an account or a paymaster has to agree to it, and `add` it; return whether one has."""
        validation = self._chain.validation(transaction)
        if validation is None:
            return False
        if len(self._tasks) >= MAX_VALIDATIONS:
            raise TooManyValidations(MAX_VALIDATIONS)
        work = self._validate(validation, add, on_error)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _validate(
        self,
        validation: Callable[[], None],
        add: Callable[[], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        try:
            async with self._one:
                await asyncio.get_running_loop().run_in_executor(self._executor, validation)
            add()
        except Exception as error:  # noqa: BLE001  # it is the sender's
            on_error(error)
