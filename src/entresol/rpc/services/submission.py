"""Submit transactions, and report failures in Hardhat's form if that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.events import BlockSealed
from entresol.errors import ExecutionReverted, TransactionFailed
from entresol.execution.reverts import hardhat_text
from entresol.primitives.transactions import decode
from entresol.rpc.jsonrpc.offload import Deferred

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.errors import ExecutionFailed
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32


class Submission:
    """Submits the transactions of clients.

    With `hardhat_errors`, one that is in a block at once and has failed there is an error for its sender, though it
    stays in the block. Fails: with the rejections of the pool.
    """

    def __init__(self, chain: Chain, *, hardhat_errors: bool = False) -> None:
        self._chain = chain
        self._hardhat_errors = hardhat_errors

    def submit(self, raw: bytes) -> Hash32 | Deferred[Hash32]:
        """Submit a raw transaction, and return its hash, once its block is durable with automine."""
        sent = self._send(decode(raw))
        sealing = self._sealing()
        return sent if sealing is None else Deferred(_after(sealing, sent))

    async def send(self, transaction: Transaction) -> Hash32:
        """Submit a transaction, and return its hash, once its block is durable with automine."""
        sent = self._send(transaction)
        sealing = self._sealing()
        return sent if sealing is None else await _after(sealing, sent)

    def _sealing(self) -> Awaitable[None] | None:
        return self._chain.sealing() if self._chain.schedule.is_automine else None

    def _send(self, transaction: Transaction) -> Hash32:
        if not self._hardhat_errors:
            return self._chain.send(transaction)
        events = self._chain.events.subscribe()
        try:
            sent = self._chain.send(transaction)
        finally:
            self._chain.events.unsubscribe(events)
        failure = self._failure(sent, events.take()[0])
        if failure is not None:
            data = failure.data if isinstance(failure, ExecutionReverted) else b""
            raise TransactionFailed(hardhat_text(failure), sent, data)
        return sent

    def _failure(self, sent: Hash32, events: Iterable[Event]) -> ExecutionFailed | None:
        location = self._chain.blocks.locate_transaction(sent)
        if location is None:
            return None
        for event in events:
            if isinstance(event, BlockSealed) and event.number == location.block_number:
                return event.failures.get(location.transaction_index)
        return None


async def _after(sealing: Awaitable[None], sent: Hash32) -> Hash32:
    await sealing
    return sent
