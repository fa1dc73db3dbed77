"""The transactions of an account, and those of the whole chain, the newest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Self, TypeAlias

from entresol.errors import (
    DeadlinePassed,
    HistoryNotLoaded,
    MalformedValue,
    NotInspectable,
    UnknownBlock,
)
from entresol.execution.block_executor import SYSTEM_CONTRACTS
from entresol.execution.tracing import trace_block
from entresol.features.explorer.account_index import targets_of
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.services.address_search import may_have_calls
from entresol.rpc.types.trace_request import frame_options
from entresol.state_missing import work_clock

if TYPE_CHECKING:
    from entresol.execution.tracing import TraceBudget
    from entresol.features.explorer.account_index import IndexedAccounts
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.values import Address
    from entresol.rpc.services.trace_runner import TraceRunner
    from entresol.storage.store_view import StoreView


_BLOCK: Final = 8
_POSITION: Final = 4
LAST_POSITION: Final = 2 ** (8 * _POSITION) - 1


class Before(NamedTuple):
    """Positions of transactions or logs that are below `position` in `block`, and all of earlier blocks."""

    block: int
    position: int

    @classmethod
    def parse(cls, cursor: bytes | None, head: int) -> Self:
        """Read a cursor; without one, begin with the head, as with one of a block that was reverted."""
        if cursor is None:
            return cls(head, LAST_POSITION)
        if len(cursor) != _BLOCK + _POSITION:
            raise MalformedValue(f"{_BLOCK + _POSITION} bytes of an earlier page", field="cursor")
        block = int.from_bytes(cursor[:_BLOCK])
        if block > head:
            return cls(head, LAST_POSITION)
        return cls(block, int.from_bytes(cursor[_BLOCK:]))

    @classmethod
    def below(cls, block: int) -> Self:
        """Return the place above all of `block`."""
        return cls(block, LAST_POSITION)

    def pack(self) -> bytes:
        """Return the cursor."""
        return self.block.to_bytes(_BLOCK) + self.position.to_bytes(_POSITION)


MAX_BLOCKS: Final = 2_000
"""How many blocks a page reads at most."""
MAX_SECONDS: Final = 2.0
"""How long blocks are read for a page: full ones take longer."""
MAX_GAS: Final = 300_000_000
"""How much gas a page executes again, to find calls within transactions: some two seconds."""

Part: TypeAlias = Literal["sender", "target", "created", "logged", "called"]
"""The part of an account in a transaction; the first that applies."""


class FoundTransaction(NamedTuple):
    """A transaction by its place; `record` is that of its block, which others may replace meanwhile."""

    block: int
    position: int
    part: Part
    record: BlockRecord


class TransactionsPage(NamedTuple):
    """Some transactions, the newest first, and where the next page begins."""

    transactions: list[FoundTransaction]
    following: Before | None


class TransactionSearch:
    """Reads the blocks that changed or called an account, or the last blocks of the chain.

    A block with one transaction that does not name the account has called it, unless it was edited by hand or is written
    to by blocks themselves. Otherwise the block is executed again, but for its beneficiary, whom every block changes.
    Any thread may use it.
    Fails: with `DeadlinePassed` if a transaction takes too long to be executed again.
    """

    def __init__(
        self,
        blocks: StoreView,
        index: IndexedAccounts,
        traces: TraceRunner,
        *,
        max_blocks: int = MAX_BLOCKS,
        max_gas: int = MAX_GAS,
        max_seconds: float = MAX_SECONDS,
    ) -> None:
        self._blocks = blocks
        self._index = index
        self._traces = traces
        self._max_blocks = max_blocks
        self._max_gas = max_gas
        self._max_seconds = max_seconds

    def all(self, before: Before, size: int) -> TransactionsPage:
        """Return transactions of any account."""
        numbers = range(before.block, self._blocks.first_number, -1)
        return self._page(numbers, before, size, _everything)

    def of_account(self, account: Address, before: Before, size: int) -> TransactionsPage:
        """Return transactions that an account has sent, or that have called, created or changed it."""
        budget = self._traces.budget()
        left = self._max_gas

        def positions(number: int, record: BlockRecord) -> dict[int, Part] | None:
            nonlocal left
            found = _direct(record, account)
            if account == record.header().beneficiary or not may_have_calls(record, found):
                return found
            edited = any(edit.address == account for edit in record.edits)
            is_written = edited or account in SYSTEM_CONTRACTS
            if len(record.transactions) == 1 and not is_written:
                return {0: "called"}
            if left <= 0:
                return None
            left -= record.header().gas_used
            return self._called(number, record, account, budget) | found

        return self._page(self._blocks_of(account, before.block), before, size, positions)

    def _page(
        self,
        numbers: Iterable[int],
        before: Before,
        size: int,
        positions: Callable[[int, BlockRecord], dict[int, Part] | None],
    ) -> TransactionsPage:
        found: list[FoundTransaction] = []
        end = work_clock() + self._max_seconds
        for read, number in enumerate(cooperatively(numbers)):
            if read >= self._max_blocks or (read and work_clock() > end):
                return TransactionsPage(found, Before.below(number))
            record = self._blocks.get_record(number)
            if record is None or not record.transactions:
                continue
            parts = positions(number, record)
            if parts is None:
                return TransactionsPage(found, Before.below(number))
            for position, part in sorted(parts.items(), reverse=True):
                if (number, position) >= before:
                    continue
                if len(found) == size:
                    last = found[-1]
                    return TransactionsPage(found, Before(last.block, last.position))
                found.append(FoundTransaction(number, position, part, record))
        return TransactionsPage(found, None)

    def _blocks_of(self, account: Address, last: int) -> Iterator[int]:
        first = self._blocks.first_number
        number = self._index.last_block_of(account, last)
        while number is not None and number > first:
            yield number
            number = self._index.last_block_of(account, number - 1)

    def _called(
        self, number: int, record: BlockRecord, account: Address, budget: TraceBudget
    ) -> dict[int, Part]:
        try:
            block = self._traces.block(number)
        except (HistoryNotLoaded, NotInspectable, UnknownBlock):
            return {}
        if block.record.hash() != record.hash():
            # Another has taken its place meanwhile.
            return {}
        found: dict[int, Part] = {}
        for traced in trace_block(block, frame_options([account], [account]), budget):
            if isinstance(traced.outcome, DeadlinePassed):
                raise traced.outcome
            if traced.outcome.trace != b"[]":
                found[traced.position] = "called"
        return found


def _everything(_number: int, record: BlockRecord) -> dict[int, Part]:
    return dict.fromkeys(range(len(record.transactions)), "sender")


def _direct(record: BlockRecord, account: Address) -> dict[int, Part]:
    found: dict[int, Part] = {}
    rows = zip(record.transactions, record.results, strict=True)
    for position, ((_, sender), result) in enumerate(rows):
        if sender == account:
            found[position] = "sender"
        elif account in targets_of(record, position):
            found[position] = "target"
        elif result.created == account:
            found[position] = "created"
        elif any(emitter == account for emitter, _, _ in result.logs):
            found[position] = "logged"
    return found
