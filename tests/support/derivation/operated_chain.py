"""A chain whose operator publishes its batches, and what L1 says of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from entresol.chain.base_fee import L2BaseFee
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.fees import FeeConstants, FeeModel
from entresol.chain.rules import ChainRules
from entresol.features.derive.batch_deriver import BatchDeriver
from entresol.features.derive.derived_block import EditSource
from entresol.features.derive.l1_events import BatchClaim
from entresol.features.derive.opening import open_derived
from entresol.primitives.published.body import PublishedBatch, decode_body, encode_body
from entresol.primitives.published.compression import compress, decompress
from entresol.primitives.published.genesis import read_genesis_data
from entresol.primitives.values import Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy, stored_info_of
from entresol.rollup.publication.publication import Publication
from entresol.rollup.system_contracts import system_genesis
from entresol.storage import tables
from tests.support.chain.varied_chain import varied_genesis
from tests.support.contracts.layer_two import L1_ASSET_ROUTER, L1_CHAIN_ID
from tests.support.known import known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from entresol.chain.genesis.genesis import Genesis
    from entresol.primitives.base_token import EtherPrice
    from entresol.primitives.published.genesis import PublishedGenesis
    from entresol.primitives.transactions import PriorityTransaction


def publishing_genesis() -> Genesis:
    """Return the genesis of the chain: contracts of every ending, and the system contracts."""
    genesis = varied_genesis(270)
    system = system_genesis(
        l1_chain_id=L1_CHAIN_ID, l1_asset_router=L1_ASSET_ROUTER, l1_takes_l2_tokens=True
    )
    return msgspec.structs.replace(genesis, alloc={**genesis.alloc, **system})


class OperatedChain:
    """Seals blocks and batches on request; its deposits are those that L1 has."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        genesis: Genesis | None = None,
        ether_price: EtherPrice | None = None,
        **rules: Any,
    ) -> None:
        self._path = path
        self._genesis = publishing_genesis() if genesis is None else genesis
        self._ether_price = ether_price
        self._rules = rules
        self.now = 1_000.0
        self.deposits: list[PriorityTransaction] = []
        self._open(FeeConstants())

    def reopen(self, constants: FeeConstants | None = None, **rules: Any) -> None:
        """Start the operator again with other rules; the chain has to be in a directory."""
        assert self._path is not None
        self.chain.close()
        self._rules |= rules
        self._open(constants or self.fees.constants)

    def close(self) -> None:
        self.chain.close()

    def deposit(self, payload: PriorityTransaction) -> None:
        self.deposits.append(msgspec.structs.replace(payload, nonce=len(self.deposits)))
        self.chain.enqueue(self.deposits[-1])

    def deposits_from(self, first: int, count: int) -> Sequence[PriorityTransaction]:
        """Return consecutive deposits, fewer if there are not more."""
        return self.deposits[first : first + count]

    def seal(self, seconds: int = 1) -> int:
        self.now += seconds
        self.chain.builder.seal()
        return self.chain.number

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

    def genesis(self) -> PublishedGenesis:
        return Publication(self.chain).genesis()

    def _open(self, constants: FeeConstants) -> None:
        self.fees = FeeModel(constants, ether_price=self._ether_price)
        settings = {"publishes": True, "fees": L2BaseFee(self.fees), **self._rules}
        rules = msgspec.structs.replace(ChainRules.layer_2(), **settings)
        self.chain = Chain.open(self._path, rules, self._genesis, clock=Clock(lambda: self.now))
        self.chain.schedule.seal_on_request()
        policy = SealingPolicy(max_age=1e9)
        publication = Publication.of(self.chain)
        blocks, batches = self.chain.blocks, self.chain.batches
        self.batcher = Batcher(blocks, batches, policy, publication=publication)
        self.batcher.begin()


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
