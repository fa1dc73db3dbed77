"""Batch 0: the genesis, with which a chain is registered on L1, and what it publishes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.primitives.batches import Batch, DataScheme
from entresol.primitives.values import Hash32
from entresol.rollup.batches import SealedBatch, stored_info_of
from entresol.rollup.priority_tree import EMPTY_LEAF
from entresol.rollup.publication.publication import Publication

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.records import BlockRecord


def seal_genesis(chain: Chain) -> Batch:
    """Return batch 0 of a chain, which is stored unless the chain has it."""
    found = chain.batches.get(0)
    if found is not None:
        return found
    sealed = _sealed(chain)
    chain.batches.append(*sealed)
    return sealed.batch


def genesis_batch_hash(chain: Chain) -> Hash32:
    """Return the hash of batch 0, which L1 stores for a registered chain."""
    batch = chain.batches.get(0) or _sealed(chain).batch
    return stored_info_of(batch, chain.rules.chain_id).hash()


def sealed_genesis(record: BlockRecord, publication: Publication | None = None) -> SealedBatch:
    """Return batch 0 of a chain that begins with this block; without a `publication` it publishes nothing."""
    if publication is None:
        return SealedBatch(_batch(record), b"", [(0, 0)])
    genesis = publication.genesis()
    # One that is too large is given as a file; its hash is on L1 all the same.
    data = genesis.publish() or b""
    return SealedBatch(_batch(record, genesis.hash(), len(data)), b"", [(0, 0)], data)


def _sealed(chain: Chain) -> SealedBatch:
    return sealed_genesis(chain.ledger.record(chain.ledger.first), Publication.of(chain))


def _batch(record: BlockRecord, data_hash: Hash32 | None = None, data_size: int = 0) -> Batch:
    header = record.header()
    return Batch(
        number=0,
        first_block=header.number,
        last_block=header.number,
        first_timestamp=header.timestamp,
        last_timestamp=header.timestamp,
        transactions=0,
        l1_transactions=0,
        first_priority_id=0,
        priority_hash=bytes(EMPTY_LEAF),
        priority_frontier=(),
        logs=0,
        message_root=bytes(32),
        state_root=bytes(header.state_root),
        data_scheme=DataScheme.NONE if data_hash is None else DataScheme.CALLDATA,
        data_commitment=bytes(data_hash or Hash32.zero()),
        data_size=data_size,
    )
