"""`entresol_` methods about many blocks and batches at once: what charts draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from entresol.errors import MalformedValue
from entresol.features.explorer.methods.transactions import page_size
from entresol.offload import Offload
from entresol.primitives.batches import SettlementStep
from entresol.primitives.records import LAYOUT
from entresol.primitives.values import Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.render.chain_json import stored_header_json
from entresol.rpc.types.number import Number
from entresol.state_missing import work_clock

if TYPE_CHECKING:
    from entresol.chain.ledger import Ledger
    from entresol.storage.batch_table import BatchTable
    from entresol.storage.store_view import StoreView

MAX_SIZE: Final = 10_000
"""How many blocks a bucket has at most."""
MAX_SECONDS: Final = 2.0
"""How long blocks are read for one page."""


class BlockBucket(JsonModel, frozen=True, kw_only=True):
    """Some consecutive blocks together."""

    from_block: Annotated[Quantity, says("The first block.")]
    to_block: Annotated[Quantity, says("The last block.")]
    timestamp: Annotated[Quantity, says("The time of the last block.")]
    transactions: Annotated[Quantity, says("How many transactions they have.")]
    gas_used: Annotated[Quantity, says("The gas that they use.")]
    gas_limit: Annotated[Quantity, says("The gas that they could use.")]
    base_fee_min: Annotated[Quantity, says("The lowest base fee, in wei.")]
    base_fee_mean: Annotated[Quantity, says("The mean base fee, rounded down.")]
    base_fee_max: Annotated[Quantity, says("The highest base fee.")]


class BlockBucketList(JsonModel, frozen=True, kw_only=True):
    """Some buckets, the newest first, and the last block of those that follow."""

    buckets: Annotated[list[BlockBucket], says("The buckets.")]
    next: Annotated[
        Quantity | None, says("The `toBlock` of those before; null after the first block.")
    ]


class BatchFigures(JsonModel, frozen=True, kw_only=True):
    """The size of a batch, and its cost on L1."""

    number: Annotated[Quantity, says("The batch.")]
    timestamp: Annotated[Quantity, says("The time of its last block.")]
    blocks: Annotated[Quantity, says("How many blocks it has.")]
    transactions: Annotated[Quantity, says("How many transactions it has, also those from L1.")]
    pubdata_bytes: Annotated[Quantity, says("How many bytes it publishes on L1.")]
    commit_gas_used: Annotated[
        Quantity | None, says("The gas of its commit on L1; null if there is none.")
    ]
    prove_gas_used: Annotated[Quantity | None, says("So, of its proof.")]
    execute_gas_used: Annotated[Quantity | None, says("So, of its execution.")]


class BatchFiguresList(JsonModel, frozen=True, kw_only=True):
    """Some batches, the newest first, and the last of those that follow."""

    batches: Annotated[list[BatchFigures], says("The batches.")]
    next: Annotated[Quantity | None, says("The `toBatch` of those before; null after the first.")]


class _Head(msgspec.Struct, rename="camel"):
    gas_used: str
    gas_limit: str
    base_fee_per_gas: str
    timestamp: str


class EntresolBlockStatistics:
    """Sums over blocks, read from their headers: nothing is kept for it."""

    prefix = "entresol"

    def __init__(self, ledger: Ledger, max_seconds: float = MAX_SECONDS) -> None:
        self._ledger = ledger
        self._max_seconds = max_seconds

    @method(MalformedValue, served_by=ServedBy.REPLICA)
    def get_block_statistics(
        self,
        size: Number | None = None,
        to_block: Number | None = None,
        limit: Number | None = None,
    ) -> Offload[BlockBucketList]:
        """Return what consecutive blocks use, in buckets of `size` blocks, the newest first.

        A bucket begins with a multiple of `size`, which is 1 by default and at most 10,000; the first one ends with
        `toBlock` or the head. `limit` is at most 100. A page reads blocks for two seconds, so it may have fewer
        buckets, and its last one may be cut: the next page goes on below. On a fork, blocks above its anchor.
        """
        most, blocks = page_size(limit), 1 if size is None else int(size)
        if not 1 <= blocks <= MAX_SIZE:
            raise MalformedValue(f"from 1 to {MAX_SIZE:,}, got {blocks}", field="size")
        head = self._ledger.number
        last = head if to_block is None else min(int(to_block), head)

        def work() -> BlockBucketList:
            reader, end = self._ledger.store, work_clock() + self._max_seconds
            # The block that a fork stands on is the remote's: here it has a header, and no transactions.
            number, first = last, reader.first_number + (self._ledger.anchor is not None)
            buckets: list[BlockBucket] = []
            while number >= first and len(buckets) < most:
                found: list[tuple[int, ...]] = []
                start = max(first, number - number % blocks)
                for at in cooperatively(range(number, start - 1, -1)):
                    figures = None if at < last and work_clock() > end else _figures(reader, at)
                    if figures is None:
                        break
                    found.append(figures)
                if found:
                    buckets.append(_bucket(number, found))
                    number -= len(found)
                if number >= start:
                    break
            return BlockBucketList(
                buckets=buckets, next=Quantity(number) if number >= first else None
            )

        return Offload(work)


class EntresolBatchStatistics:
    """Sizes and costs of batches, as their table has them."""

    prefix = "entresol"

    def __init__(self, batches: BatchTable) -> None:
        self._batches = batches

    @method(MalformedValue, served_by=ServedBy.REPLICA)
    def get_batch_statistics(
        self, to_batch: Number | None = None, limit: Number | None = None
    ) -> Offload[BatchFiguresList]:
        """Return what batches have and what L1 took for them, the newest first, from `toBatch` or the last one on.

        The gas of a step is that of the whole transaction, which may settle several batches. `limit` is at most 100.
        """
        most, newest = page_size(limit), self._batches.last()
        known = 0 if newest is None else newest.number
        last = known if to_batch is None else min(int(to_batch), known)

        def work() -> BatchFiguresList:
            end = max(0, last - most)
            found = [self._of(number) for number in range(last, end, -1)]
            return BatchFiguresList(
                batches=[figures for figures in found if figures is not None],
                next=Quantity(end) if end else None,
            )

        return Offload(work)

    def _of(self, number: int) -> BatchFigures | None:
        batch = self._batches.get(number)
        if batch is None:
            # It was reverted meanwhile.
            return None
        return BatchFigures(
            number=Quantity(number),
            timestamp=Quantity(batch.last_timestamp),
            blocks=Quantity(batch.last_block - batch.first_block + 1),
            transactions=Quantity(batch.transactions),
            pubdata_bytes=Quantity(batch.data_size),
            commit_gas_used=self._gas(number, SettlementStep.COMMIT),
            prove_gas_used=self._gas(number, SettlementStep.PROVE),
            execute_gas_used=self._gas(number, SettlementStep.EXECUTE),
        )

    def _gas(self, number: int, step: SettlementStep) -> Quantity | None:
        found = self._batches.settled(number, step)
        return None if found is None or found.gas_used is None else Quantity(found.gas_used)


def _figures(blocks: StoreView, number: int) -> tuple[int, ...] | None:
    """Return the time, transactions, gas used, gas limit and base fee of a block; None if it is not there any more."""
    stored = blocks.get_encoded_record(number)
    if stored is None:
        return None
    head = msgspec.json.decode(stored_header_json(stored), type=_Head)
    summary = LAYOUT.block_summary(stored, b"")
    # What the crate cannot read, Python reads or reports.
    transactions = summary[1] if summary else len(blocks.record(number).transactions)
    used, limit = int(head.gas_used, 16), int(head.gas_limit, 16)
    return int(head.timestamp, 16), transactions, used, limit, int(head.base_fee_per_gas, 16)


def _bucket(last: int, found: list[tuple[int, ...]]) -> BlockBucket:
    times, transactions, used, limits, fees = zip(*found, strict=True)
    return BlockBucket(
        from_block=Quantity(last - len(found) + 1),
        to_block=Quantity(last),
        timestamp=Quantity(times[0]),
        transactions=Quantity(sum(transactions)),
        gas_used=Quantity(sum(used)),
        gas_limit=Quantity(sum(limits)),
        base_fee_min=Quantity(min(fees)),
        base_fee_mean=Quantity(sum(fees) // len(fees)),
        base_fee_max=Quantity(max(fees)),
    )
