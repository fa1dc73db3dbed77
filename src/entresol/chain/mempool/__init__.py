"""Transactions that wait for a block: who may wait, who goes first and who has to leave."""

from entresol.chain.mempool.admission import AccountReader, AdmissionRules
from entresol.chain.mempool.contents import Counts, PoolContents, PoolSnapshot
from entresol.chain.mempool.intrinsic import SCHEDULES, GasSchedule, intrinsic_gas
from entresol.chain.mempool.ordering import Best, Order
from entresol.chain.mempool.pool import Mempool, PoolConfig
from entresol.chain.mempool.reports import Added, Dropped, Refreshed

__all__ = [
    "SCHEDULES",
    "AccountReader",
    "Added",
    "AdmissionRules",
    "Best",
    "Counts",
    "Dropped",
    "GasSchedule",
    "Mempool",
    "Order",
    "PoolConfig",
    "PoolContents",
    "PoolSnapshot",
    "Refreshed",
    "intrinsic_gas",
]
