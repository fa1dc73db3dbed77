"""The header of an executed block: what it computes, beside what its environment says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol._native import BLOB_GAS, ordered_root
from entresol.primitives.headers import EMPTY_TRIE, Header
from entresol.primitives.receipts import union
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol.execution.evm_env import BlockEnv
    from entresol.primitives.records import BlockRecord


def assemble_header(  # noqa: PLR0913 - what a header commits to
    env: BlockEnv,
    body: BlockRecord,
    *,
    parent_hash: Hash32,
    state_root: Hash32,
    gas_used: int,
    blob_count: int,
    extra_data: bytes,
) -> Header:
    """Return the header of a block; of `body`, only the transactions and their results count."""
    receipts = list(body.receipts())
    later = env.fork_fields
    return Header(
        parent_hash=parent_hash,
        beneficiary=env.beneficiary,
        state_root=state_root,
        transactions_root=_root([raw for raw, _ in body.transactions]),
        receipts_root=_root([receipt.encode() for receipt in receipts]),
        logs_bloom=union(receipt.bloom for receipt in receipts if receipt.logs),
        number=env.number,
        gas_limit=env.gas_limit,
        gas_used=gas_used,
        timestamp=env.timestamp,
        extra_data=extra_data,
        mix_hash=env.prevrandao,
        base_fee_per_gas=env.base_fee,
        withdrawals_root=later.withdrawals_root,
        blob_gas_used=None if later.excess_blob_gas is None else BLOB_GAS * blob_count,
        excess_blob_gas=later.excess_blob_gas,
        parent_beacon_block_root=later.parent_beacon_block_root,
        requests_hash=later.requests_hash,
    )


def roots_of_body(body: BlockRecord) -> tuple[Hash32, Hash32]:
    """Return the roots of the transactions and of the receipts of a block."""
    raws = [raw for raw, _ in body.transactions]
    return _root(raws), _root([receipt.encode() for receipt in body.receipts()])


def _root(items: list[bytes]) -> Hash32:
    return Hash32(ordered_root(items)) if items else EMPTY_TRIE
