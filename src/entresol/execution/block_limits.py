"""Limits of a block beside its gas: the number and the price of blobs, and the messages to L1 that a batch can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol._native import blob_base_fee
from entresol.errors import BlockFullOfBlobs, BlockFullOfMessages, TooManyMessages
from entresol.primitives.l2_to_l1_logs import MAX_LOGS_PER_BATCH

if TYPE_CHECKING:
    from entresol._native import Rules
    from entresol.execution.evm_env import BlockEnv
    from entresol.primitives.transactions import BlobTransaction


def check_blobs(payload: BlobTransaction, included: int, rules: Rules, env: BlockEnv) -> None:
    """Reject blobs that do not fit beside those `included`, or that cost more here than the transaction offers."""
    limit, count = rules.max_blobs, included + len(payload.blob_hashes)
    if len(payload.blob_hashes) <= limit < count:
        raise BlockFullOfBlobs(f"the block would have {count} blobs, and may have {limit}")
    price = blob_base_fee(rules, env.fork_fields.excess_blob_gas or 0) or 0
    if payload.max_fee_per_blob_gas < price:
        offered = payload.max_fee_per_blob_gas
        raise BlockFullOfBlobs(f"blob gas costs {price} wei, and the transaction pays {offered}")


def exceeds_batch(messages: int) -> bool:
    """Return whether a batch cannot hold this many messages to L1."""
    return messages > MAX_LOGS_PER_BATCH


def check_messages(messages: int, included: int) -> None:
    """Reject the messages of a transaction if a batch cannot hold them, or not beside those `included`."""
    if messages > MAX_LOGS_PER_BATCH:
        raise TooManyMessages(messages, MAX_LOGS_PER_BATCH)
    if included + messages > MAX_LOGS_PER_BATCH:
        raise BlockFullOfMessages(included + messages, MAX_LOGS_PER_BATCH)
