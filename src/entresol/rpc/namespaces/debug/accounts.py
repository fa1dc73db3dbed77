"""`debug_accountInfoAt` and `debug_getModifiedAccounts…`: accounts within a block, and those that blocks have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Raw

from entresol._native import account_info_json
from entresol.errors import (
    BlockNotFound,
    GenesisNotExecuted,
    InvalidTraceRange,
    NotExecutedHere,
    TransactionIndexTooHigh,
)
from entresol.offload import Offload
from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.gil_turns import cooperatively, within_limit
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.namespaces.eth.state import AccountInfo
from entresol.rpc.types.block_id import BlockHash, BlockId, BlockNumber
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.chain.ledger import Ledger
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.trace_runner import TraceRunner

MAX_BLOCKS: Final = 1_000
"""How many blocks a range has at most."""

_ADDRESS_BYTES: Final = 45
"""What an address takes in a response."""


class DebugAccounts:
    """Accounts of sealed blocks."""

    prefix = "debug"

    def __init__(
        self, traces: TraceRunner, resolver: BlockResolver, ledger: Ledger, max_bytes: int
    ) -> None:
        self._traces = traces
        self._resolver = resolver
        self._ledger = ledger
        self._max_bytes = max_bytes

    @method(
        BlockNotFound,
        GenesisNotExecuted,
        NotExecutedHere,
        TransactionIndexTooHigh,
        served_by=ServedBy.BLOCK,
        past=Past.REPLAY,
    )
    def account_info_at(
        self, block: BlockId, tx_index: Number, address: Address
    ) -> Offload[Annotated[Raw, AccountInfo]]:
        """Return balance, nonce and code of an account after a transaction of a block, by its index."""
        sealed, index = self._traces.block(self._traces.number(block)), int(tx_index)
        if index >= len(sealed.record.transactions):
            raise TransactionIndexTooHigh(index, sealed.record.hash())
        return Offload(lambda: Raw(account_info_json(sealed.env_before(index + 1).state, address)))

    @method(
        BlockNotFound,
        GenesisNotExecuted,
        NotExecutedHere,
        InvalidTraceRange,
        served_by=ServedBy.BLOCK,
        past=Past.LOCAL,
    )
    def get_modified_accounts_by_number(
        self, start: BlockNumber, end: BlockNumber | None = None
    ) -> Offload[list[Address]]:
        """Return the accounts that a block has changed, or those that blocks after `start` up to `end` have.

        At most 1,000 blocks. An edit by a developer counts, and so does an account whose storage alone has changed. On a
        fork these are blocks above its anchor.
        """
        first = self._resolver.inspected(start)
        return self._modified(first, None if end is None else self._resolver.inspected(end))

    @method(
        BlockNotFound,
        GenesisNotExecuted,
        NotExecutedHere,
        InvalidTraceRange,
        served_by=ServedBy.REPLICA,
        past=Past.LOCAL,
    )
    def get_modified_accounts_by_hash(
        self, start: BlockHash, end: BlockHash | None = None
    ) -> Offload[list[Address]]:
        """Return what `debug_getModifiedAccountsByNumber` does, for blocks by hash."""
        first = self._resolver.inspected(BlockId(block_hash=start))
        last = None if end is None else self._resolver.inspected(BlockId(block_hash=end))
        return self._modified(first, last)

    def _modified(self, start: int, end: int | None) -> Offload[list[Address]]:
        numbers = self._changed_blocks(start, end)
        return Offload(
            lambda: list(within_limit(self._changed(numbers), self._max_bytes, _size_of))
        )

    def _changed_blocks(self, start: int, end: int | None) -> range:
        if end is None:
            if start == self._ledger.first:
                raise GenesisNotExecuted(f"block {start:#x} found, but parent missing")
            start, end = start - 1, start
        if start >= end:
            raise InvalidTraceRange(
                f"start block height ({start}) must be less than end block height ({end})"
            )
        if end - start > MAX_BLOCKS:
            raise InvalidTraceRange(
                f"block range too large, currently limited to {MAX_BLOCKS}: {end - start}"
            )
        self._ledger.check_executed(start + 1)
        return range(start + 1, end + 1)

    def _changed(self, numbers: range) -> Iterator[Address]:
        """Yield the accounts that blocks have changed, each once."""
        seen: set[bytes] = set()
        for number in cooperatively(numbers):
            for change in self._ledger.record(number).changes:
                if change.address not in seen:
                    seen.add(change.address)
                    yield Address(change.address)


def _size_of(_address: Address) -> int:
    return _ADDRESS_BYTES
