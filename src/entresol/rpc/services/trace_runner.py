"""Find what is to be traced, and trace it on a thread within limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from entresol._native import TraceWriter
from entresol.chain.finality import BlockTag
from entresol.errors import NotInspectable, TransactionNotFound
from entresol.execution.tracing import TraceBudget, TraceLimits
from entresol.offload import Offload
from entresol.rpc.services.open_past import OpenPast

if TYPE_CHECKING:
    from entresol.chain.ledger import Ledger
    from entresol.execution.evm_env import EvmEnv
    from entresol.execution.tracing import SealedBlock
    from entresol.primitives.values import Hash32
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.types.block_id import BlockNumber


class Location(NamedTuple):
    """A sealed transaction: its block, and its index there."""

    block: SealedBlock
    position: int


class TraceRunner:
    """Blocks, transactions and states of one chain, to be traced.

    Fails: with `NotInspectable`. Any thread may use it.
    """

    def __init__(
        self,
        ledger: Ledger,
        resolver: BlockResolver,
        limits: TraceLimits | None = None,
        past: OpenPast | None = None,
    ) -> None:
        """Trace what the ledger has; of a fork also the block of the past that a call is about."""
        self._past = past or OpenPast()
        self._ledger = ledger
        self._blocks = ledger.store
        self._resolver = resolver
        self._limits = limits or TraceLimits()

    def run(
        self, work: Callable[[TraceBudget], None], seconds: float | None = None
    ) -> Offload[TraceWriter]:
        """Return the work of tracing, which writes its response into the budget's writer."""

        def on_worker() -> TraceWriter:
            # With a writer of its own each time: on a fork it may run again.
            budget = TraceBudget(self._limits, seconds)
            work(budget)
            budget.bytes_left()
            return budget.writer

        return Offload(on_worker)

    def budget(self) -> TraceBudget:
        """Return a budget for traces that are not a response."""
        return TraceBudget(self._limits)

    def number(self, block: BlockNumber) -> int:
        """Return the number of a sealed block that is to be traced."""
        if block.tag is BlockTag.PENDING:
            raise NotInspectable("tracing on top of pending is not supported")
        past = self._past.named(block)
        return self._resolver.inspected(block) if past is None else past.number

    def is_genesis(self, number: int) -> bool:
        """Return whether a block is the genesis, which was not executed."""
        return number == self._ledger.first and self._past.numbered(number) is None

    def hash_of(self, number: int) -> Hash32:
        """Return the hash of a sealed block."""
        return self._blocks.record(number).hash()

    def block(self, number: int) -> SealedBlock:
        """Return a sealed block; the genesis was not executed."""
        past = self._past.numbered(number)
        if past is not None and past.sealed is not None:
            return past.sealed
        if self.is_genesis(number):
            raise NotInspectable("genesis is not traceable")
        return self._ledger.sealed_block(number)

    def transaction(self, transaction_hash: Hash32) -> Location:
        """Return a sealed transaction."""
        past = self._past.current
        if past is not None and past.sealed is not None:
            position = past.sealed.position_of(transaction_hash)
            if position is not None:
                return Location(past.sealed, position)
        location = self._blocks.locate_transaction(transaction_hash)
        if location is None:
            raise TransactionNotFound
        return Location(self.block(location.block_number), location.transaction_index)

    def env(self, block: BlockNumber, index: int | None = None) -> Callable[[], EvmEnv]:
        """Return a function that builds the environment after a block, or before one of its transactions."""
        number = self.number(block)
        if index is None or self.is_genesis(number):
            evm_env = self._resolver.evm_env(block)
            return lambda: evm_env
        sealed = self.block(number)
        if index > len(sealed.record.transactions):
            raise NotInspectable(
                f"transaction index {index} out of range for block 0x{sealed.record.header().hash().hex()}"
            )

        return lambda: sealed.env_before(index)
