"""Capacity and ordering of a mempool."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from entresol.execution.evm_env import ValidationLimits

Order: TypeAlias = Literal["fees", "fifo"]


class PoolConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How many transactions a mempool holds, and which it prefers.

    `limit_bytes` is memory, of which a transaction takes two to five times its own bytes. A sender may have
    `sender_limit` transactions, `queue_limit` of them behind a nonce gap, for `queue_seconds`.
    """

    order: Order = "fees"
    limit: int = 20_000
    limit_bytes: int = 128 * 1024 * 1024
    sender_limit: int = 4_096
    queue_limit: int = 64
    queue_seconds: float = 10_800.0
    replacement_percent: int = 10
    validation: ValidationLimits = ValidationLimits()
