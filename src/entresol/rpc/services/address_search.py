"""Search blocks for the transactions that an address takes part in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import SearchTooLong
from entresol.execution.trace.block_trace import trace_block
from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.cooperative import cooperatively
from entresol.rpc.types.trace_request import frame_options

if TYPE_CHECKING:
    from entresol.execution.trace.budget import TraceBudget
    from entresol.primitives.records import BlockRecord
    from entresol.rpc.services.trace_runner import TraceRunner
    from entresol.storage.readers import BlockReader

MAX_BLOCKS: Final = 100_000
"""How many blocks a search reads at most."""


class FoundBlock(NamedTuple):
    """A block in which an address takes part in some transactions."""

    number: int
    positions: list[int]


class AddressPage(NamedTuple):
    """The blocks of a page, and whether there are more."""

    blocks: list[FoundBlock]
    has_more: bool


class AddressSearch:
    """Reads blocks one after another: there is no index by address.

    A transaction is found by its sender, its recipient, the contract it creates and the contracts that log; and by
    calls between contracts, if they change the account. Remembers: nothing. Any thread may use it.
    """

    def __init__(
        self, blocks: BlockReader, traces: TraceRunner, max_blocks: int = MAX_BLOCKS
    ) -> None:
        self._blocks = blocks
        self._traces = traces
        self._max_blocks = max_blocks

    def page(self, address: Address, numbers: range, size: int) -> AddressPage:
        """Return blocks with at least `size` transactions together, in the order of `numbers`."""
        found: list[FoundBlock] = []
        count = 0
        for block in self._found(address, numbers):
            if block is None:
                if count < size:
                    raise SearchTooLong(self._max_blocks)
                return AddressPage(found, has_more=True)
            if count >= size:
                return AddressPage(found, has_more=True)
            found.append(block)
            count += len(block.positions)
        return AddressPage(found, has_more=False)

    def _found(self, address: Address, numbers: range) -> Iterator[FoundBlock | None]:
        """Yield blocks, and None if there are more than may be read."""
        budget = self._traces.budget()
        for read, number in enumerate(cooperatively(numbers)):
            if read >= self._max_blocks:
                yield None
                return
            record = self._blocks.record(number)
            positions = sorted(self._positions(record, number, address, budget))
            if positions:
                yield FoundBlock(number, positions)

    def _positions(
        self, record: BlockRecord, number: int, address: Address, budget: TraceBudget
    ) -> set[int]:
        direct = set(_direct(record, address))
        count = len(record.transactions)
        is_changed = any(change.address == address for change in record.changes)
        if len(direct) == count or not is_changed or record.header().beneficiary == address:
            return direct
        options = frame_options([address], [address])
        traced = trace_block(self._traces.block(number), options, budget)
        return direct | {
            it.position
            for it in traced
            if not isinstance(it.outcome, Exception) and it.outcome.trace != b"[]"
        }


def _direct(record: BlockRecord, address: Address) -> Iterable[int]:
    """Yield the positions of transactions that name `address`, without executing them."""
    rows = zip(record.transactions, record.results, strict=True)
    for position, ((raw, sender), result) in enumerate(rows):
        is_named = address in (sender, result.created, *(emitter for emitter, _, _ in result.logs))
        # Decoding takes longer than the search for the bytes.
        may_be_recipient = not is_named and raw.find(address) >= 0
        if is_named or (may_be_recipient and record.transaction(position).payload.to == address):
            yield position
