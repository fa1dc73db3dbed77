"""The deposits of a chain in the order of L1, as batches that are derived need them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from entresol.errors import LayerOneMismatch
from entresol.l1.availability.batch_data import logs_in_windows
from entresol.l1.contracts import NEW_PRIORITY_REQUEST, decode_deposit
from entresol.primitives.transactions.priority import MAX_PRIORITY_TRANSACTIONS
from entresol.rollup.derivation.l1_events import check_order, is_before, position_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.l1.availability.batch_data import EventPosition
    from entresol.l1.contracts import ZkChain
    from entresol.l1.layer_one import L1Log
    from entresol.primitives.transactions import PriorityTransaction


class DepositFeed:
    """Reads deposits ahead, as many as a batch may have.

    A batch has only deposits that L1 had before its commit. Fails: as `LayerOne` does, and with `LayerOneMismatch` if
    the logs skip an id.
    """

    def __init__(self, contract: ZkChain, next_id: int, first: int, last: int) -> None:
        """Read from the L1 block `first` on, up to `last`; the next batch begins with the deposit `next_id`."""
        self._contract = contract
        self._range = first, last
        self._next_id = next_id
        self._logs = logs_in_windows(
            contract.l1, contract.address, (NEW_PRIORITY_REQUEST,), first, last
        )
        self._read: L1Log | None = None
        """The last log that was read; its deposit is ahead of the batch if `_is_ahead`."""
        self._is_ahead = False
        self._is_over = False
        self._pending: deque[tuple[int, PriorityTransaction]] = deque()

    @property
    def next_id(self) -> int:
        """The id after those that were read for batches."""
        return self._next_id

    @property
    def pending_from(self) -> int | None:
        """The L1 block of the first deposit that no batch has; None if none is known."""
        if self._pending:
            return self._pending[0][0]
        return self._read.block_number if self._read is not None and self._is_ahead else None

    async def fill(self, commit: EventPosition) -> None:
        """Read what a batch that is committed there may have."""
        while len(self._pending) < MAX_PRIORITY_TRANSACTIONS and await self._advance():
            assert self._read is not None
            if not is_before(position_of(self._read), commit):
                return
            self._is_ahead = False
            self._add(self._read)

    def take(self, first: int, count: int) -> Sequence[PriorityTransaction]:
        """Return consecutive deposits, which stay; fewer if L1 had not more before the commit."""
        found = [payload for _, payload in self._pending if payload.nonce >= first]
        return found[:count]

    def drop(self, next_id: int) -> None:
        """Forget the deposits that a batch has."""
        while self._pending and self._pending[0][1].nonce < next_id:
            self._pending.popleft()

    async def aclose(self) -> None:
        """End the search."""
        await self._logs.aclose()

    async def _advance(self) -> bool:
        """Read the next log, unless one is ahead; return whether there is one."""
        if self._is_ahead:
            return True
        log = None if self._is_over else await anext(self._logs, None)
        if log is None:
            self._is_over = True
            return False
        check_order(log, self._read, self._contract, *self._range)
        self._read, self._is_ahead = log, True
        return True

    def _add(self, log: L1Log) -> None:
        deposit = decode_deposit(log)
        if deposit.priority_id < self._next_id:
            return
        if deposit.priority_id > self._next_id:
            raise LayerOneMismatch(
                f"deposit {self._next_id} is missing on {self._contract.l1.name}: the next one in its logs, in block "
                f"{deposit.block}, is {deposit.priority_id}"
            )
        self._pending.append((deposit.block, deposit.payload))
        self._next_id += 1
