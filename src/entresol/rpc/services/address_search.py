"""Search blocks for the transactions that an address takes part in."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import TRANSACTION_GAS
from entresol.errors import DeadlinePassed, HistoryNotLoaded, NotInspectable
from entresol.execution.tracing import trace_block
from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.types.trace_request import frame_options

if TYPE_CHECKING:
    from entresol.execution.tracing import TraceBudget
    from entresol.primitives.records import BlockRecord
    from entresol.rpc.services.trace_runner import TraceRunner
    from entresol.storage.store_view import StoreView

MAX_BLOCKS: Final = 100_000
"""How many blocks a search reads at most."""
MAX_GAS: Final = 2_000_000_000
"""How much gas it executes again at most, to find calls: some 15 seconds."""


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

    A transaction is found by its sender, its recipient, the recipient of a refund, the contract it creates and the
    contracts that log; and by calls between contracts, for which a block is executed again. Any
    thread may use it. Fails: with `DeadlinePassed` if a transaction takes too long to be executed again.
    """

    def __init__(
        self,
        blocks: StoreView,
        traces: TraceRunner,
        max_blocks: int = MAX_BLOCKS,
        max_gas: int = MAX_GAS,
    ) -> None:
        self._blocks = blocks
        self._traces = traces
        self._max_blocks = max_blocks
        self._max_gas = max_gas

    def page(self, address: Address, numbers: range, size: int) -> AddressPage:
        """Return blocks with at least `size` transactions together, in the order of `numbers`."""
        found: list[FoundBlock] = []
        count = 0
        for block in self._found(address, numbers):
            if isinstance(block, int):
                if count < size:
                    raise NotInspectable(
                        f"the search stopped after {block:d} blocks, the most that one reads"
                    )
                return AddressPage(found, has_more=True)
            if count >= size:
                return AddressPage(found, has_more=True)
            found.append(block)
            count += len(block.positions)
        return AddressPage(found, has_more=False)

    def _found(self, address: Address, numbers: range) -> Iterator[FoundBlock | int]:
        """Yield blocks, and how many were read if that were as many as may be."""
        budget = self._traces.budget()
        gas = 0
        for read, number in enumerate(cooperatively(numbers)):
            if read >= self._max_blocks or gas > self._max_gas:
                yield read
                return
            record = self._blocks.record(number)
            direct = set(_direct(record, address))
            if may_have_calls(record, direct):
                gas += record.header().gas_used
                direct |= self._called(number, address, budget)
            if direct:
                yield FoundBlock(number, sorted(direct))

    def _called(self, number: int, address: Address, budget: TraceBudget) -> set[int]:
        try:
            block = self._traces.block(number)
        except HistoryNotLoaded:
            return set()
        found = set()
        for traced in trace_block(block, frame_options([address], [address]), budget):
            if isinstance(traced.outcome, DeadlinePassed):
                raise traced.outcome
            if traced.outcome.trace != b"[]":
                found.add(traced.position)
        return found


def may_have_calls(record: BlockRecord, found: Container[int]) -> bool:
    """Return whether a transaction that is not found already has executed code."""
    return any(
        result.gas_used > TRANSACTION_GAS and position not in found
        for position, result in enumerate(record.results)
    )


def _direct(record: BlockRecord, address: Address) -> Iterable[int]:
    rows = zip(record.transactions, record.results, strict=True)
    for position, ((raw, sender), result) in enumerate(rows):
        is_named = address in (sender, result.created, *(emitter for emitter, _, _ in result.logs))
        # Decoding takes longer than the search for the bytes.
        may_be_recipient = not is_named and raw.find(address) >= 0
        if is_named or (may_be_recipient and _is_recipient(record, position, address)):
            yield position


def _is_recipient(record: BlockRecord, position: int, address: Address) -> bool:
    """Return whether a transaction is sent to `address`, or refunds what is left of a deposit to it."""
    payload = record.transaction(position).payload
    if isinstance(payload, PriorityTransaction) and payload.refund_recipient == address:
        return True
    return payload.to == address
