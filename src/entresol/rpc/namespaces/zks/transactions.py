"""Transaction details, raw transactions, and submission with detailed output."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

from msgspec import Raw

from entresol._native import execute
from entresol.cache_limits import CACHES
from entresol.chain.logs import LocatedLog
from entresol.chain.mempool.validation import check_transaction
from entresol.errors import InvalidTransaction, PoolRejection
from entresol.execution.evm_env import tx_env_of
from entresol.offload import POLICY, Offload, started
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.records import LAYOUT
from entresol.primitives.transactions import PriorityTransaction, Transaction, decode, load
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.gil_turns import within_limit
from entresol.rpc.jsonrpc.method import Order, Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.models.chain_objects import LogInfo
from entresol.rpc.render.chain_json import effective_gas_price
from entresol.rpc.render.hex import iso_timestamp, raw_array
from entresol.rpc.render.raw_transactions import (
    DEFAULT_GAS_PER_PUBDATA,
    RawTransaction,
    gas_per_pubdata,
    raw_transaction,
)
from entresol.rpc.types.block_id import BlockHeight, TransactionHash
from entresol.sequencer.submission import Submission
from entresol.state_missing import retried

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol._native import ExecutionResult, Log
    from entresol.chain.chain import Chain
    from entresol.execution.block_executor import BlockExecutor
    from entresol.primitives.transactions import Payload
    from entresol.rpc.services.batch_status import BatchSettlement, BatchStatus
    from entresol.rpc.services.rendered_chain import PendingTransactions, RenderedChain
    from entresol.rpc.threads.client_threads import Threads
    from entresol.sequencer.account_validations import AccountValidations


class TransactionDetails(JsonModel, frozen=True, kw_only=True):
    """A transaction and its settlement; null for steps not taken yet."""

    is_l1_originated: Annotated[bool, says("Whether L1 requested it.")]
    status: Annotated[str, says("Whether it waits, is in a block, failed, or is verified on L1.")]
    fee: Annotated[Quantity, says("What was paid for it, in units of the base token.")]
    gas_per_pubdata: Annotated[Quantity, says("How much gas a byte of pubdata may cost.")]
    initiator_address: Annotated[Address, says("The sender.")]
    received_at: Annotated[str, says("When the node received it, or sealed it if that is unknown.")]
    eth_commit_tx_hash: Annotated[
        Hash32 | None, says("The transaction on L1 that committed its batch; null before it.")
    ] = None
    eth_prove_tx_hash: Annotated[
        Hash32 | None, says("The transaction on L1 that proved its batch; null before it.")
    ] = None
    eth_execute_tx_hash: Annotated[
        Hash32 | None, says("The transaction on L1 that executed its batch; null before it.")
    ] = None
    eth_precommit_tx_hash: Annotated[Hash32 | None, says("Null: nothing is precommitted.")] = None


class StorageLog(JsonModel, frozen=True, kw_only=True):
    """A slot that a transaction writes."""

    address: Annotated[Address, says("The account.")]
    key: Annotated[Quantity, says("The key of the slot.")]
    written_value: Annotated[Quantity, says("The value that it has now.")]


class DetailedOutput(JsonModel, frozen=True, kw_only=True):
    """The hash of a transaction, and its effects if it is the next one."""

    transaction_hash: Annotated[Hash32, says("The hash of the transaction.")]
    storage_logs: Annotated[list[StorageLog], says("The slots that it wrote.")]
    events: Annotated[list[LogInfo], says("The logs that it emitted.")]


class ZksTransactions:
    """`zks_` methods about transactions.

    Remembers: details of transactions in sealed batches, until the next block or until their settlement changes.
    """

    prefix = "zks"

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain: Chain,
        batch_status: BatchStatus,
        pending: PendingTransactions,
        rendered: RenderedChain,
        submission: Submission,
        max_bytes: int,
        *,
        threads: Threads,
        validations: AccountValidations,
        pending_block: Callable[[], BlockExecutor] | None = None,
    ) -> None:
        self._chain = chain
        self._validations = validations
        self._submission = submission
        self._batch_status = batch_status
        self._pending = pending
        self._rendered = rendered
        self._threads = threads
        self._max_bytes = max_bytes
        self._pending_block = pending_block or chain.builder.pending
        self._head: Hash32 | None = None
        self._details: BoundedMap[bytes, tuple[int, BatchSettlement, Raw]] = BoundedMap(
            CACHES.details
        )

    @method(getter=True, served_by=ServedBy.STORE, past=Past.REMOTE)
    def get_transaction_details(
        self, hash: TransactionHash
    ) -> Annotated[Raw, TransactionDetails] | None:
        """Return the status, fee and settlement of a transaction."""
        head = self._chain.ledger.head_hash
        if head is not self._head:
            self._head, self._details = head, BoundedMap(CACHES.details)
        known = self._details.get(hash)
        if known is not None and self._batch_status.of_block(known[0]) is known[1]:
            return known[2]
        location = self._chain.blocks.locate_transaction(hash)
        if location is not None:
            settlement = self._batch_status.of_block(location.block_number)
            details = self._included(*location, settlement)
            if details is not None and settlement.batch is not None:
                self._details.put(bytes(hash), (location.block_number, settlement, details))
            return details
        pending = self._pending.get(hash)
        if pending is None:
            return None
        return _details(
            pending.sender,
            pending.payload,
            status="pending",
            fee=0,
            received=time.time(),
            hashes=self._batch_status.unsettled.hashes,
        )

    @method(served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_raw_block_transactions(
        self, block: BlockHeight
    ) -> Annotated[Raw, list[RawTransaction]] | Offload[Raw]:
        """Return the transactions of a block with all their fields; none for an unknown block."""
        record = self._chain.blocks.get_record(block)
        if record is None:
            return raw_array(())
        received, count = record.header().timestamp, len(record.transactions)

        def work() -> Raw:
            encoded = (
                encode(raw_transaction(record.transaction(index), received))
                for index in range(count)
            )
            return raw_array(within_limit(encoded, self._max_bytes, len))

        size = sum(len(raw) for raw, _ in record.transactions)
        is_short = count <= POLICY.rendered_items and size <= POLICY.data_bytes
        return work() if is_short else Offload(work)

    @method(InvalidTransaction, PoolRejection, order=Order.GROUPED)
    def send_raw_transaction_with_detailed_output(
        self, tx_bytes: Data
    ) -> DetailedOutput | Awaitable[DetailedOutput]:
        """Submit a signed transaction, and return the storage writes and logs it has if it is the next one."""
        raw = bytes(tx_bytes)
        self._validations.check_raw(raw)
        transaction = decode(raw)
        check_transaction(transaction, self._chain.pool.rules)
        return started(self._send_with_output(transaction))

    @method(
        InvalidTransaction,
        PoolRejection,
        name="unstable_sendRawTransactionWithDetailedOutput",
        order=Order.GROUPED,
    )
    def send_raw_transaction_by_unstable_name(
        self, tx_bytes: Data
    ) -> DetailedOutput | Awaitable[DetailedOutput]:
        """Submit a signed transaction, and return its effects; an alias of that method of `zks_`."""
        return self.send_raw_transaction_with_detailed_output(tx_bytes)

    async def _send_with_output(self, transaction: Transaction) -> DetailedOutput:
        async with self._submission.turn(transaction.sender):
            if transaction.signature_error is not None:
                # Only a contract account may accept it.
                await retried(partial(self._chain.pool.check, transaction))
            await self._validations.validate(transaction)
            output = await self._output(transaction)
            response = await self._submission.send(transaction, reports_failure=False)
        await response
        return output

    async def _output(self, transaction: Transaction) -> DetailedOutput:
        pending = await retried(self._pending_block)
        before = len(pending.transactions), sum(len(result.logs) for result in pending.results)
        executed = await self._execute(transaction, pending)
        events = self._events(transaction, pending, before, executed.logs)
        writes = [
            StorageLog(
                address=Address(change.address),
                key=Quantity(int.from_bytes(slot)),
                written_value=Quantity(int.from_bytes(after)),
            )
            for change in executed.changes.accounts
            for slot, (_, after) in sorted(change.storage.items())
        ]
        return DetailedOutput(
            transaction_hash=transaction.hash,
            storage_logs=writes,
            events=cast("list[LogInfo]", events),
        )

    async def _execute(self, transaction: Transaction, pending: BlockExecutor) -> ExecutionResult:
        rules, env = self._chain.rules.evm_rules(), pending.env.native
        tx_env = tx_env_of(transaction, self._chain.pool.config.validation)
        return await self._threads.run(lambda: execute(pending.overlay, rules, env, tx_env))

    def _events(
        self,
        transaction: Transaction,
        pending: BlockExecutor,
        before: tuple[int, int],
        logs: list[Log],
    ) -> list[Raw]:
        """Return the logs of a transaction after so many transactions and logs of the pending block."""
        return [
            self._rendered.log(
                LocatedLog(
                    address=Address(address),
                    topics=tuple(map(Hash32, topics)),
                    data=data,
                    block_number=pending.env.number,
                    block_hash=Hash32.zero(),
                    block_timestamp=pending.env.timestamp,
                    transaction_hash=transaction.hash,
                    transaction_index=before[0],
                    index=before[1] + within,
                    index_in_transaction=within,
                )
            )
            for within, (address, topics, data) in enumerate(logs)
        ]

    def _included(self, block: int, index: int, settlement: BatchSettlement) -> Raw | None:
        stored = self._chain.blocks.get_encoded_record(block)
        summary = None if stored is None else LAYOUT.transaction_summary(stored, index)
        if summary is None:
            # Reports what is wrong with the record.
            self._chain.blocks.record(block)
            return None
        sender, succeeded, gas_used, timestamp, base_fee, price, raw = summary
        payload = None if price is not None else load(raw, Address(sender)).payload
        if payload is not None:
            price = effective_gas_price(payload, base_fee)
        status = "included" if settlement.status == "sealed" else settlement.status
        return _details(
            sender,
            payload,
            status=status if succeeded else "failed",
            fee=gas_used * (price or 0),
            received=timestamp,
            hashes=settlement.hashes,
        )


def _details(
    sender: bytes, payload: Payload | None, *, status: str, fee: int, received: float, hashes: str
) -> Raw:
    """Return the details of a transaction; without a payload, it is one that any Ethereum node knows."""
    from_l1 = "true" if isinstance(payload, PriorityTransaction) else "false"
    pubdata = DEFAULT_GAS_PER_PUBDATA if payload is None else gas_per_pubdata(payload)
    return Raw(
        f'{{"isL1Originated":{from_l1},"status":"{status}","fee":"{fee:#x}",'
        f'"gasPerPubdata":"{pubdata:#x}","initiatorAddress":"0x{sender.hex()}",'
        f'"receivedAt":"{iso_timestamp(received)}",{hashes}}}'.encode()
    )
