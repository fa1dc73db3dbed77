"""The small readers by which methods see what lies behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.execution.call.limits import CallLimits
from entresol.rollup.batches import stored_info_of
from entresol.rollup.system_contracts import ASSET_ROUTER, MULTICALL
from entresol.rpc.cache.block_logs import BlockLogs
from entresol.rpc.jsonrpc.dispatch import RequestLimits
from entresol.rpc.namespaces.zks.contracts import L2Contracts
from entresol.rpc.render.inclusion import BatchInfo
from entresol.rpc.services.log_search import LogLimits
from entresol.rpc.types.overrides import OverrideLimits

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.events import BlockSealed
    from entresol.node.config.schema import LimitsConfig
    from entresol.primitives.batches import Batch
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32
    from entresol.rpc.services.rendered_chain import RenderedChain
    from entresol.storage.batch_table import BatchTable


L2_CONTRACTS: Final = L2Contracts(asset_router=ASSET_ROUTER, multicall=MULTICALL)


def call_limits(config: LimitsConfig) -> CallLimits:
    """Return the limits of `eth_call`, estimates and simulations."""
    return CallLimits(gas_cap=config.call_gas_cap, seconds=config.call_seconds)


def log_limits(config: LimitsConfig) -> LogLimits:
    """Return the limits of log queries."""
    return LogLimits(
        results=config.log_limit,
        blocks=config.log_block_limit or None,
        alternatives=config.log_filter_limit,
    )


def override_limits(config: LimitsConfig) -> OverrideLimits:
    """Return the limits of state overrides."""
    return OverrideLimits(accounts=config.override_account_limit, slots=config.override_slot_limit)


def request_limits(config: LimitsConfig) -> RequestLimits:
    """Return the limits of all requests."""
    return RequestLimits(batch=config.batch_limit, response_bytes=config.answer_limit_bytes)


class NotificationRenderer:
    """What subscribers are told, in the shapes of the answers."""

    def __init__(self, rendered: RenderedChain) -> None:
        self._rendered = rendered

    def header(self, sealed: BlockSealed) -> bytes:
        """Return the header of a new block."""
        return bytes(self._rendered.head(sealed.header, sealed.hash))

    def logs(self, record: BlockRecord, *, removed: bool) -> BlockLogs:
        """Return the logs of a block."""
        return (
            BlockLogs(record, None, removed=True)
            if removed
            else self._rendered.log_cache.logs_in(record)
        )

    def transaction(self, transaction: Transaction) -> bytes:
        """Return a transaction that waits."""
        return bytes(self._rendered.pending_transaction(transaction))


class PendingTransactions:
    """Whatever waits for a block: in the pool, or from the other layer."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def get(self, transaction_hash: bytes) -> Transaction | None:
        """Return the transaction with this hash."""
        chain = self._chain
        return chain.pool.get(transaction_hash) or chain.producer.priority.get(transaction_hash)


class BatchInclusion:
    """Which batch a block is in."""

    def __init__(self, batches: BatchTable) -> None:
        self._batches = batches

    def batch_of(self, block: int) -> BatchInfo | None:
        """Return the batch of a block, once it is sealed."""
        place = self._batches.position_of_block(block)
        batch = None if place is None else self._batches.get(place.batch)
        if place is None or batch is None:
            return None
        return BatchInfo(
            number=batch.number,
            timestamp=batch.first_timestamp,
            first_transaction=place.transactions_before,
        )

    def last_block(self) -> int | None:
        """Return the last block that is in a sealed batch."""
        last = self._batches.last()
        return None if last is None else last.last_block


class BatchCommitments:
    """What L1 is told of batches."""

    def __init__(self, chain_id: int) -> None:
        self._chain_id = chain_id

    def commitment_of(self, batch: Batch) -> Hash32:
        """Return the hash that binds a batch on L1."""
        return stored_info_of(batch, self._chain_id).commitment
