"""Report the failure of a transaction to its sender as an error, as Hardhat does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.chain.events import BLOCK_EVENTS, BlockSealed
from entresol.errors import ExecutionReverted, TransactionFailed
from entresol.execution.reverts import hardhat_text
from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.errors import ExecutionFailed
    from entresol.primitives.values import Hash32

MAX_FAILURES: Final = 64
"""Of how many blocks failures are remembered, until senders have their responses."""


class SentFailures:
    """Why transactions of recent blocks failed.

    Remembers: the failures of some blocks by their hash, because after a revert another block has the number. Persists:
    nothing. Fails: never.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._failures: BoundedMap[Hash32, Mapping[int, ExecutionFailed]] = BoundedMap(MAX_FAILURES)
        chain.events.listen(self._on_event, *BLOCK_EVENTS)

    def error_of(self, sent: Hash32) -> TransactionFailed | None:
        """Return the error for the sender of a transaction that failed in its block; None for any other."""
        location = self._chain.blocks.locate_transaction(sent)
        if location is None:
            return None
        block_hash = self._chain.blocks.block_hash(location.block_number)
        failures = None if block_hash is None else self._failures.get(block_hash)
        failure = None if failures is None else failures.get(location.transaction_index)
        if failure is None:
            return None
        data = failure.data if isinstance(failure, ExecutionReverted) else b""
        return TransactionFailed(hardhat_text(failure), sent, data)

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, BlockSealed):
            self._failures.clear()
        elif event.failures:
            self._failures.put(event.hash, event.failures)
