"""The mempool: validation, ordering and eviction of transactions."""

from entresol.chain.mempool.config import Order, PoolConfig
from entresol.chain.mempool.events import PoolUpdated, TransactionAdded, TransactionDropped
from entresol.chain.mempool.ordering import BestTransactions
from entresol.chain.mempool.pool import Mempool
from entresol.chain.mempool.pool_index import PoolCheckpoint, PoolCounts, PoolView
from entresol.chain.mempool.validation import SCHEDULES, GasSchedule, ValidationRules, intrinsic_gas
from entresol.execution.account_senders import AccountReader

__all__ = [
    "SCHEDULES",
    "AccountReader",
    "BestTransactions",
    "GasSchedule",
    "Mempool",
    "Order",
    "PoolCheckpoint",
    "PoolConfig",
    "PoolCounts",
    "PoolUpdated",
    "PoolView",
    "TransactionAdded",
    "TransactionDropped",
    "ValidationRules",
    "intrinsic_gas",
]
