"""The mempool: validation, ordering and eviction of transactions."""

from entresol.chain.mempool.ordering import BestTransactions, Order, PoolConfig
from entresol.chain.mempool.pool import Mempool, PoolUpdated, TransactionAdded, TransactionDropped
from entresol.chain.mempool.pool_index import PoolCheckpoint, PoolCounts, PoolView
from entresol.chain.mempool.validation import SCHEDULES, GasSchedule, ValidationRules, intrinsic_gas
from entresol.execution.evm_env import State

__all__ = [
    "SCHEDULES",
    "BestTransactions",
    "GasSchedule",
    "Mempool",
    "Order",
    "PoolCheckpoint",
    "PoolConfig",
    "PoolCounts",
    "PoolUpdated",
    "PoolView",
    "State",
    "TransactionAdded",
    "TransactionDropped",
    "ValidationRules",
    "intrinsic_gas",
]
