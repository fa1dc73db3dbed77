"""`eth_sendRawTransactionSync` (EIP-7966) and `eth_sendTransactionSync`: submit and wait for the receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Raw

from entresol.chain.events import BLOCK_EVENTS
from entresol.errors import (
    AccountsLocked,
    ExecutionFailed,
    InvalidTransaction,
    PoolRejection,
    ReceiptTimeout,
    UnknownAccount,
)
from entresol.offload import Offload, started
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.method import Order, ServedBy, method
from entresol.rpc.models.chain_objects import ReceiptInfo
from entresol.rpc.types.call_request import TransactionObject
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.values import Hash32
    from entresol.rpc.namespaces.eth.accounts import EthAccounts
    from entresol.rpc.services.rendered_chain import RenderedChain
    from entresol.sequencer.submission import Submission

DEFAULT_SECONDS: Final = 20.0


class EthSendSync:
    """Transactions whose senders wait for the receipt."""

    prefix = "eth"

    def __init__(
        self,
        chain: Chain,
        submission: Submission,
        accounts: EthAccounts,
        rendered: RenderedChain,
        max_seconds: float,
    ) -> None:
        self._chain = chain
        self._submission = submission
        self._accounts = accounts
        self._rendered = rendered
        self._max_seconds = max_seconds

    @method(
        InvalidTransaction,
        PoolRejection,
        ReceiptTimeout,
        order=Order.IN_TURN,
        waits=True,
        served_by=ServedBy.PRODUCER,
    )
    def send_raw_transaction_sync(
        self, tx_bytes: Data, timeout_ms: Number | None = None
    ) -> Annotated[Raw, ReceiptInfo] | Awaitable[Raw | Offload[Raw]]:
        """Submit a signed transaction, and return its receipt; fail if no block includes it in time."""
        sending = self._submission.submit(bytes(tx_bytes), reports_failure=False)
        return self._receipt(sending, timeout_ms)

    @method(
        UnknownAccount,
        AccountsLocked,
        InvalidTransaction,
        PoolRejection,
        ExecutionFailed,
        ReceiptTimeout,
        order=Order.IN_TURN,
        waits=True,
        served_by=ServedBy.PRODUCER,
    )
    def send_transaction_sync(
        self, transaction: TransactionObject, timeout_ms: Number | None = None
    ) -> Annotated[Raw, ReceiptInfo] | Awaitable[Raw | Offload[Raw]]:
        """Submit a transaction of one of the node's accounts, and return its receipt; fail if no block includes it."""
        sending = started(self._accounts.send(transaction, reports_failure=False))
        return self._receipt(sending, timeout_ms)

    async def _receipt(
        self, sending: Hash32 | Awaitable[Hash32], timeout_ms: Number | None
    ) -> Raw | Offload[Raw]:
        sent = await sending if isinstance(sending, Awaitable) else sending
        wanted = timeout_ms / 1000 if timeout_ms else DEFAULT_SECONDS
        seconds = min(wanted, self._max_seconds)
        event = asyncio.Event()
        subscription = self._chain.events.subscribe(*BLOCK_EVENTS, backlog=1, wake=event.set)
        try:
            async with asyncio.timeout(seconds):
                while (receipt := self._rendered.receipt(sent)) is None:
                    await event.wait()
                    event.clear()
        except TimeoutError:
            raise ReceiptTimeout(sent, seconds) from None
        finally:
            self._chain.events.unsubscribe(subscription)
        return receipt
