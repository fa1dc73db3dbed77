"""The mempool: validation, ordering and eviction of transactions."""

from entresol.chain.mempool.config import Order, PoolConfig
from entresol.chain.mempool.events import PoolUpdated, TransactionAdded, TransactionDropped
from entresol.chain.mempool.intrinsic_gas import SCHEDULES, GasSchedule, intrinsic_gas
from entresol.chain.mempool.ordering import BestTransactions
from entresol.chain.mempool.pool import Mempool
from entresol.chain.mempool.validation import ValidationRules
from entresol.chain.mempool.view import PoolCheckpoint, PoolCounts, PoolView
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
