"""The logs of a chain's contract about its batches, as one ordered stream of events."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from entresol._native import keccak256
from entresol.errors import LayerOneMismatch, MalformedValue, UnreadableData
from entresol.features.derive.errors import DerivationAlarm, UnderivableBatch
from entresol.l1.availability.batch_data import (
    BATCH_DATA,
    EventPosition,
    decode_batch_data,
    logs_in_windows,
)
from entresol.l1.contracts import (
    BATCH_COMMITTED,
    BATCH_EXECUTED,
    BATCHES_VERIFIED,
    NEW_PRIORITY_REQUEST,
    BatchTotals,
    decode_deposit,
)
from entresol.primitives import abi
from entresol.primitives.published.body import PublishedBatch, decode_body
from entresol.primitives.published.compression import decompress
from entresol.primitives.transactions.priority import MAX_PRIORITY_TRANSACTIONS
from entresol.primitives.values import Hash32
from entresol.rollup.batches import stored_info_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from entresol.l1.availability.batch_data import CommittedData, EventPosition
    from entresol.l1.contracts import ZkChain
    from entresol.l1.layer_one import L1Log
    from entresol.primitives.batches import Batch
    from entresol.primitives.transactions import PriorityTransaction


class DepositFeed:
    """Reads deposits ahead, as many as a batch may have. A batch has only deposits that L1 had before its commit."""

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


BATCH_RANGE: Final = Hash32(keccak256(b"ReportCommittedBatchRangeZKsyncOS(uint64,uint64,uint64)"))
BATCHES_REVERTED: Final = Hash32(keccak256(b"BlocksRevert(uint256,uint256,uint256)"))
MAX_NUMBER: Final = 2**63 - 1
"""No batch and no block has a higher number."""


class BatchClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A committed batch as L1 has it in its logs."""

    number: int
    state_root: Hash32
    commitment: Hash32
    """The commitment to timestamps, data, deposits, messages and imported roots."""
    first_block: int
    last_block: int
    data: bytes
    """The data that it publishes; empty if there is nothing."""

    def read(self) -> PublishedBatch:
        """Decode the data; raise `UnderivableBatch` for anything but a batch with this number and these blocks."""
        if not self.data:
            raise UnderivableBatch(self.number, "data", "nothing published", "no blocks")
        try:
            batch = decode_body(decompress(self.data))
        except UnreadableData as error:
            raise self.underivable(error.field, str(error)) from error
        header = batch.header
        self.check("number", self.number, header.number)
        self.check("first_block", self.first_block, header.first_block)
        self.check("last_block", self.last_block, header.first_block + len(batch.blocks) - 1)
        return batch

    def check(self, field: str, expected: object, found: object) -> None:
        """Raise `DerivationAlarm` unless what L1 says is what was found."""
        if expected != found:
            raise DerivationAlarm(self.number, field, expected, found)

    def check_sealed(self, batch: Batch, chain_id: int) -> None:
        """Raise `DerivationAlarm` unless a batch that was sealed here is the one that L1 has."""
        self.check("state_root", self.state_root, Hash32(batch.state_root))
        self.check("commitment", self.commitment, stored_info_of(batch, chain_id).commitment)

    def underivable(self, field: str, problem: str) -> UnderivableBatch:
        """Return the alarm for data from which no blocks follow."""
        data = f"{len(self.data)} bytes of data with the hash 0x{keccak256(self.data).hex()}"
        return UnderivableBatch(self.number, field, data, problem)


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    """Where L1 has an event, and which transaction emitted it."""

    position: EventPosition
    transaction: Hash32


class BatchCommitted(_Event, frozen=True, kw_only=True):
    """A batch was committed, with what L1 says of it."""

    claim: BatchClaim


class BatchesVerified(_Event, frozen=True, kw_only=True):
    """The batches after `before` up to `last` were proven."""

    before: int
    last: int


class BatchExecuted(_Event, frozen=True, kw_only=True):
    """A batch was executed."""

    number: int
    state_root: Hash32
    commitment: Hash32


class BatchesReverted(_Event, frozen=True, kw_only=True):
    """Batches were reverted; what is left of them."""

    totals: BatchTotals


BatchEvent: TypeAlias = BatchCommitted | BatchesVerified | BatchExecuted | BatchesReverted


class L1Events:
    """Reads the events of a chain's batches, from logs alone. A commit has several logs, which are one event here."""

    def __init__(self, contract: ZkChain) -> None:
        self._contract = contract
        self._l1 = contract.l1

    async def after(
        self, position: EventPosition | None, last: int
    ) -> AsyncGenerator[BatchEvent, None]:
        """Yield the events after a position, or all of them, up to an L1 block, in order."""
        first = self._contract.first_block if position is None else position.block
        commit = _OpenCommit()
        async for log in self._logs((), first, last):
            if not _follows(log, position):
                continue
            event = commit.take(log)
            if event is not None:
                yield event
        commit.check_closed()

    async def reverts_after(
        self, position: EventPosition | None, last: int
    ) -> AsyncGenerator[BatchesReverted, None]:
        """Yield the reverts alone, which are few."""
        first = self._contract.first_block if position is None else position.block
        async for log in self._logs((BATCHES_REVERTED,), first, last):
            if _follows(log, position):
                yield _decode_revert(log)

    async def _logs(
        self, topics: Sequence[Hash32], first: int, last: int
    ) -> AsyncGenerator[L1Log, None]:
        """Yield logs of the contract, each of which comes after the one before it."""
        before: L1Log | None = None
        async for log in logs_in_windows(self._l1, self._contract.address, topics, first, last):
            check_order(log, before, self._contract, first, last)
            before = log
            yield log


def check_order(log: L1Log, before: L1Log | None, contract: ZkChain, first: int, last: int) -> None:
    """Raise `LayerOneMismatch` unless a log is one of the contract, in a range of blocks, after the one before it."""
    if log.address != contract.address or not first <= log.block_number <= last:
        raise _unexpected(log, "it is of another contract or block than was requested")
    if before is None:
        return
    if (log.block_number, log.index) <= (before.block_number, before.index):
        raise _unexpected(log, "it does not come after the one before it")
    if log.block_number == before.block_number and log.block_hash != before.block_hash:
        raise _unexpected(log, "another log of the block has another hash of it")


class BatchReverts:
    """The reverts of batches, by which it is known at once whether a commit lasts."""

    def __init__(self) -> None:
        self._found: list[BatchesReverted] = []

    @property
    def last(self) -> int | None:
        """The lowest batch that they leave as the last one; None without any."""
        return self._found[0].totals.committed if self._found else None

    def add(self, revert: BatchesReverted) -> None:
        """Add the next one."""
        while self._found and self._found[-1].totals.committed >= revert.totals.committed:
            self._found.pop()
        self._found.append(revert)

    def last_after(self, position: EventPosition) -> int:
        """Return the highest batch that lasts of what was committed at a position."""
        for revert in self._found:
            if not is_before(revert.position, position):
                return revert.totals.committed
        return MAX_NUMBER


class _OpenCommit:
    """The logs of a commit: its data, its range of blocks, and the commit itself, of one transaction."""

    def __init__(self) -> None:
        self._data: CommittedData | None = None
        self._range: tuple[L1Log, tuple[int, ...]] | None = None

    def take(self, log: L1Log) -> BatchEvent | None:
        """Return the event that a log is or completes; None if it does neither."""
        topic = log.topics[0] if log.topics else None
        if topic == BATCH_DATA:
            self.check_closed()
            self._data = decode_batch_data(log)
        elif topic == BATCH_RANGE:
            self._check_no_range()
            self._range = log, _numbers(log, 3)
        elif topic == BATCH_COMMITTED:
            return self._committed(log)
        elif topic == BATCHES_VERIFIED:
            self.check_closed()
            before, last = _numbers(log, 2)
            if before >= last:
                raise _unexpected(log, "it verifies no batch")
            return BatchesVerified(
                position=position_of(log),
                transaction=log.transaction_hash,
                before=before,
                last=last,
            )
        elif topic == BATCH_EXECUTED:
            self.check_closed()
            number, (root, commitment) = _number_and_hashes(log)
            return BatchExecuted(
                position=position_of(log),
                transaction=log.transaction_hash,
                number=number,
                state_root=root,
                commitment=commitment,
            )
        elif topic == BATCHES_REVERTED:
            self.check_closed()
            return _decode_revert(log)
        return None

    def check_closed(self) -> None:
        """Raise `LayerOneMismatch` if a commit is not complete."""
        if self._data is not None:
            problem = f"log {self._data.position.log_index} of L1 block {self._data.position.block}"
            raise LayerOneMismatch(
                f"{problem} has data of batch {self._data.number}, but its commit is missing"
            )
        self._check_no_range()

    def _check_no_range(self) -> None:
        if self._range is not None:
            raise _unexpected(self._range[0], "the commit of these blocks is missing")

    def _committed(self, log: L1Log) -> BatchCommitted:
        number, (root, commitment) = _number_and_hashes(log)
        data, found, self._data, self._range = self._data, self._range, None, None
        if found is None or found[1][0] != number or not _are_together(found[0], log):
            raise _unexpected(log, f"the range of blocks of batch {number} is missing")
        if data is not None and (data.number != number or data.transaction != log.transaction_hash):
            raise _unexpected(log, f"the data before it is that of batch {data.number}")
        claim = BatchClaim(
            number=number,
            state_root=root,
            commitment=commitment,
            first_block=found[1][1],
            last_block=found[1][2],
            data=b"" if data is None else data.data,
        )
        return BatchCommitted(
            position=position_of(log), transaction=log.transaction_hash, claim=claim
        )


def position_of(log: L1Log) -> EventPosition:
    """Return where a log is."""
    return EventPosition(log.block_number, log.block_hash, log.index)


def is_before(one: EventPosition, other: EventPosition) -> bool:
    """Return whether a position comes before another one of the same L1."""
    return (one.block, one.log_index) < (other.block, other.log_index)


def _follows(log: L1Log, position: EventPosition | None) -> bool:
    return position is None or is_before(position, position_of(log))


def _are_together(one: L1Log, other: L1Log) -> bool:
    return one.transaction_hash == other.transaction_hash and one.block_hash == other.block_hash


def _numbers(log: L1Log, count: int) -> tuple[int, ...]:
    """Return the indexed numbers of a log."""
    if len(log.topics) != count + 1:
        raise _unexpected(log, f"it has {len(log.topics)} topics")
    found = tuple(int.from_bytes(topic) for topic in log.topics[1:])
    if max(found) > MAX_NUMBER:
        raise _unexpected(log, f"{max(found)} is not a number of a batch or a block")
    return found


def _number_and_hashes(log: L1Log) -> tuple[int, tuple[Hash32, Hash32]]:
    if len(log.topics) != 4:
        raise _unexpected(log, f"it has {len(log.topics)} topics")
    number = int.from_bytes(log.topics[1])
    if not 0 < number <= MAX_NUMBER:
        raise _unexpected(log, f"{number} is not a number of a batch")
    return number, (log.topics[2], log.topics[3])


def _decode_revert(log: L1Log) -> BatchesReverted:
    try:
        numbers = abi.decode("(uint256,uint256,uint256)", log.data)
    except MalformedValue as error:
        raise _unexpected(log, str(error)) from error
    if max(numbers) > MAX_NUMBER:
        raise _unexpected(log, f"{max(numbers)} is not a number of a batch")
    return BatchesReverted(
        position=position_of(log), transaction=log.transaction_hash, totals=BatchTotals(*numbers)
    )


def _unexpected(log: L1Log, problem: str) -> LayerOneMismatch:
    return LayerOneMismatch(f"log {log.index} of L1 block {log.block_number} cannot be: {problem}")
