"""A chain whose operator publishes its batches, and what L1 says of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from entresol.chain.chain import Chain
from entresol.features.derive.batch_deriver import BatchDeriver
from entresol.features.derive.derived_block import EditSource
from entresol.features.derive.l1_events import BatchClaim
from entresol.features.derive.opening import open_derived
from entresol.primitives.published.body import PublishedBatch, decode_body, encode_body
from entresol.primitives.published.compression import compress, decompress
from entresol.primitives.published.genesis import read_genesis_data
from entresol.primitives.values import Hash32
from entresol.rollup.batches import stored_info_of
from entresol.storage import tables
from tests.support.known import known
from tests.support.rollup.publishing_chain import PublishingChain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class OperatedChain(PublishingChain):
    """Says what L1 says of its batches, too."""

    def seal_batch(self) -> BatchClaim:
        """Seal all blocks that are in no batch into one, and return what L1 says of it."""
        batch = known(asyncio.run(self.batcher.seal(0.0)))
        return self.claim(batch.number)

    def claim(self, number: int) -> BatchClaim:
        batch = known(self.chain.batches.get(number))
        return BatchClaim(
            number=number,
            state_root=Hash32(batch.state_root),
            commitment=stored_info_of(batch, self.chain.rules.chain_id).commitment,
            first_block=batch.first_block,
            last_block=batch.last_block,
            data=self.chain.batches.data(number),
        )

    def claims(self) -> list[BatchClaim]:
        last = known(self.chain.batches.last())
        return [self.claim(number) for number in range(1, last.number + 1)]


def republished(
    claim: BatchClaim, change: Callable[[PublishedBatch], PublishedBatch]
) -> BatchClaim:
    batch = decode_body(decompress(claim.data))
    return msgspec.structs.replace(claim, data=compress(encode_body(change(batch))))


def with_block(batch: PublishedBatch, index: int, **changes: Any) -> PublishedBatch:
    blocks = list(batch.blocks)
    blocks[index] = msgspec.structs.replace(blocks[index], **changes)
    return msgspec.structs.replace(batch, blocks=tuple(blocks))


_OWN = (tables.IDENTITY, tables.DEPOSITS)
"""A genesis with slots that are zero is another one for the store, but the same chain."""


class DerivedChain:
    """Derives batch after batch, and stores each as its caller does."""

    def __init__(
        self, operator: OperatedChain, path: Path | None = None, edits: EditSource | None = None
    ) -> None:
        self._operator = operator
        published = operator.genesis()
        data = known(published.publish())
        genesis = read_genesis_data([data], published.hash())
        self.chain = open_derived(path, genesis, data)
        self.deriver = BatchDeriver(self.chain, edits)

    def close(self) -> None:
        self.chain.close()

    def derive(self, *claims: BatchClaim) -> None:
        for claim in claims:
            sealed = self.deriver.derive(claim, self._operator.deposits_from)
            self.chain.batches.append(*sealed)


def rows(chain: Chain) -> Iterator[tuple[bytes, bytes]]:
    """Yield all rows of a chain's store, but for those that do not belong to the chain."""
    for key, value in chain.ledger.store._db.scan(b""):
        if key not in _OWN:
            yield key, value


def assert_same(derived: Chain, operator: Chain) -> None:
    """Check that two chains have the same blocks, batches and rows of the store, byte for byte."""
    assert_same_blocks(derived, operator)
    found, expected = dict(rows(derived)), dict(rows(operator))
    assert found.keys() ^ expected.keys() == set()
    assert {key: value for key, value in found.items() if expected[key] != value} == {}


def assert_same_blocks(derived: Chain, operator: Chain) -> None:
    """Check that two chains have the same blocks, receipts, states, prices, rules and batches."""
    assert derived.number == operator.number
    for number in range(operator.ledger.first, operator.number + 1):
        ours, theirs = derived.ledger.record(number), operator.ledger.record(number)
        assert ours.header() == theirs.header(), number
        assert ours.encode() == theirs.encode(), number
        assert [receipt.encode() for receipt in ours.receipts()] == [
            receipt.encode() for receipt in theirs.receipts()
        ]
        assert derived.prices.at(number) == operator.prices.at(number), number
        rules = derived.ledger.store.rules.at(number), operator.ledger.store.rules.at(number)
        assert rules[0] == rules[1], number
    last = operator.batches.last()
    assert derived.batches.last() == last
    assert last is not None
    for number in range(last.number + 1):
        assert derived.batches.get(number) == operator.batches.get(number)
        assert derived.batches.data(number) == operator.batches.data(number)
        assert derived.batches.logs(number) == operator.batches.logs(number)


def seen(chain: Chain) -> tuple[object, ...]:
    """Return what a reader sees of a chain, and what the next block is built on."""
    store = chain.ledger.store
    return (
        chain.number,
        chain.ledger.head_hash,
        chain.ledger.head,
        chain.batches.last(),
        store.rules.current,
        store.rules.at(chain.number),
        chain.prices.at(chain.number),
        chain.settings,
        len(chain.pool),
        chain.filler.has_work,
        chain.latest.account(bytes(20)),
    )
