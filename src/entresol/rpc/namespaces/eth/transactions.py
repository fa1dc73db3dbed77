"""`eth_` methods about transactions: reading and submitting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from msgspec import Raw

from entresol.chain.events import BLOCK_EVENTS
from entresol.errors import (
    AccountsLocked,
    ExecutionFailed,
    InvalidTransaction,
    PoolRejection,
    ReceiptTimeout,
    TransactionFailed,
    UnknownAccount,
)
from entresol.offload import Offload, started
from entresol.primitives.values import Address, Data, Hash32, Quantity64
from entresol.rpc.jsonrpc.method import Order, Past, ServedBy, method
from entresol.rpc.models.chain_objects import ReceiptInfo, TransactionInfo
from entresol.rpc.types.block_id import BlockHash, BlockNumber, TransactionHash
from entresol.rpc.types.call_request import TransactionObject
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.rpc.namespaces.eth.accounts import EthAccounts
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.rendered_chain import RenderedChain
    from entresol.sequencer.submission import Submission


_T = TypeVar("_T")


class ResponseHold:
    """Holds a response until `seconds` after the request, if blocks are sealed at once; an error is not held.

    A client that reads its nonce, sends, and has the receipt at once would otherwise sign its next transaction with the
    nonce that it has cached. Fails: as what it holds.
    """

    def __init__(self, chain: Chain, seconds: float) -> None:
        self._chain = chain
        self._seconds = seconds

    def hold(self, response: Awaitable[_T]) -> Awaitable[_T]:
        """Return a response that comes later, if it has to."""
        if not self._seconds or not self._chain.schedule.is_automine:
            return response
        end = asyncio.get_running_loop().time() + self._seconds
        return _held(response, end)


async def _held(response: Awaitable[_T], end: float) -> _T:
    result = await response
    await asyncio.sleep(end - asyncio.get_running_loop().time())
    return result


class EthTransactions:
    """`eth_` methods about transactions."""

    prefix = "eth"

    def __init__(
        self,
        chain: Chain,
        resolver: BlockResolver,
        rendered: RenderedChain,
        submission: Submission,
        responses: ResponseHold,
    ) -> None:
        self._chain = chain
        self._submission = submission
        self._responses = responses
        self._resolver = resolver
        self._rendered = rendered

    @method(InvalidTransaction, PoolRejection, TransactionFailed, order=Order.GROUPED)
    def send_raw_transaction(self, tx_bytes: Data) -> Awaitable[Hash32]:
        """Submit a signed transaction, and return its hash."""
        return self._responses.hold(self._submission.submit(bytes(tx_bytes)))

    @method(getter=True, served_by=ServedBy.STORE, past=Past.REMOTE)
    def get_transaction_by_hash(
        self, hash: TransactionHash
    ) -> Annotated[Raw, TransactionInfo] | None:
        """Return a transaction by hash, pending or in a block."""
        return self._rendered.transaction(hash)

    @method(getter=True, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_transaction_by_block_number_and_index(
        self, block_number: BlockNumber, index: Quantity64
    ) -> Annotated[Raw, TransactionInfo] | None:
        """Return a transaction by block number and index."""
        number = self._resolver.number(block_number)
        return None if number is None else self._rendered.transaction_at(number, index)

    @method(getter=True, served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_transaction_by_block_hash_and_index(
        self, block_hash: BlockHash, index: Quantity64
    ) -> Annotated[Raw, TransactionInfo] | None:
        """Return a transaction by block hash and index."""
        number = self._chain.blocks.block_number(block_hash)
        return None if number is None else self._rendered.transaction_at(number, index)

    @method(cached=True, getter=True, served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_transaction_receipt(
        self, hash: TransactionHash
    ) -> Annotated[Raw, ReceiptInfo] | Offload[Raw] | None:
        """Return the receipt of a transaction by hash, or null until it is in a block."""
        return self._rendered.receipt(hash)

    @method(getter=True, served_by=ServedBy.STORE, past=Past.REMOTE)
    def get_raw_transaction_by_hash(self, hash: TransactionHash) -> Annotated[Raw, Data] | None:
        """Return the raw bytes of a transaction by hash."""
        return self._rendered.raw_transaction(hash)

    @method(getter=True, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_raw_transaction_by_block_number_and_index(
        self, block_number: BlockNumber, index: Quantity64
    ) -> Annotated[Raw, Data] | None:
        """Return the raw bytes of a transaction by block number and index."""
        number = self._resolver.number(block_number)
        return None if number is None else self._rendered.raw_transaction_at(number, index)

    @method(getter=True, served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_raw_transaction_by_block_hash_and_index(
        self, block_hash: BlockHash, index: Quantity64
    ) -> Annotated[Raw, Data] | None:
        """Return the raw bytes of a transaction by block hash and index."""
        number = self._chain.blocks.block_number(block_hash)
        return None if number is None else self._rendered.raw_transaction_at(number, index)

    @method(getter=True, served_by=ServedBy.STORE, past=Past.LOCAL)
    def get_transaction_by_sender_and_nonce(
        self, sender: Address, nonce: Quantity64
    ) -> Annotated[Raw, TransactionInfo] | None:
        """Return a transaction by sender and nonce, pending or in a block."""
        sent = self._chain.blocks.hash_by_nonce(sender, nonce)
        if sent is not None:
            return self._rendered.transaction(sent)
        pending = self._chain.pool.find(sender, nonce)
        return None if pending is None else self._rendered.pending_transaction(pending)


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

    @method(InvalidTransaction, PoolRejection, ReceiptTimeout, order=Order.IN_TURN, waits=True)
    def send_raw_transaction_sync(
        self, tx_bytes: Data, timeout_ms: Number | None = None
    ) -> Annotated[Raw, ReceiptInfo] | Awaitable[Raw | Offload[Raw]]:
        """Submit a signed transaction, and return its receipt; fail if no block includes it in time."""
        sending = self._submission.submit(bytes(tx_bytes), reports_failure=False)
        return self._receipt(sending, timeout_ms)

    @method(
        *(UnknownAccount, AccountsLocked, InvalidTransaction, PoolRejection),
        *(ExecutionFailed, ReceiptTimeout),
        order=Order.IN_TURN,
        waits=True,
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
