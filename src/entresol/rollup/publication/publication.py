"""What the batches of a chain publish: the genesis as batch 0, and the body of each other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import BatchOverflow, NotPublishable, StoreDamaged
from entresol.primitives.published.body import BatchHeader
from entresol.primitives.published.compression import compress
from entresol.primitives.published.edits import EditsByHash
from entresol.primitives.published.limits import MAX_PUBLISHED_BYTES
from entresol.primitives.values import Hash32
from entresol.rollup.publication.blocks import RulesInForce, published_block
from entresol.rollup.publication.body_builder import BodyBuilder
from entresol.rollup.publication.genesis import published_genesis

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.batches import Batch
    from entresol.primitives.headers import Header
    from entresol.primitives.published.block import PublishedBlock
    from entresol.primitives.published.genesis import PublishedGenesis
    from entresol.primitives.published.rules import BlockRules
    from entresol.primitives.records import BlockRecord
    from entresol.storage.batch_table import BatchTable


class Publication:
    """Turns blocks of a chain into what is published of them.

    Remembers: nothing. Persists: nothing; what a sealed batch publishes is stored with it. Assumes: a chain that
    publishes, whose store has rules and prices of every block.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._store = chain.ledger.store

    @classmethod
    def of(cls, chain: Chain) -> Publication | None:
        """Return that of a chain; None if it publishes nothing."""
        return cls(chain) if chain.rules.publishes else None

    def genesis(self) -> PublishedGenesis:
        """Return the genesis as it is published."""
        return published_genesis(self._chain.genesis, self.rules_at(self._chain.ledger.first))

    def open(self, last: Batch) -> OpenBody:
        """Return the body of the batch after `last`, without blocks."""
        parent = self._store.header(last.last_block)
        return OpenBody(self, last.number + 1, parent, last.hashed_from)

    def published(
        self, record: BlockRecord, parent: Header, before: RulesInForce
    ) -> PublishedBlock:
        """Return what is published of the block after `parent`."""
        number = parent.number + 1
        prices = self._store.prices.at(number)
        if prices is None:
            raise StoreDamaged(self._store.path, f"the prices of block {number} are missing")
        return published_block(record, parent, prices, self.rules_at(number), before)

    def rules_at(self, number: int) -> BlockRules:
        """Return the rules of a block."""
        rules = self._store.rules.at(number)
        if rules is None:
            raise StoreDamaged(self._store.path, f"the rules of block {number} are missing")
        return rules


def publication_report(batches: BatchTable) -> dict[str, str | None]:
    """Return what of a chain does not follow from L1: what is not there, and what was accepted all the same."""
    last = batches.last()
    accepted = "; ".join(map(str, batches.derivation.accepted()))
    return {
        "publication": None if last is None else missing_on_l1(last),
        "derivation": accepted or None,
    }


def missing_on_l1(last: Batch) -> str | None:
    """Return from which block on L1 is not enough to rebuild a chain, given its last batch; None if it is."""
    if not last.hashed_from:
        return None
    return (
        f"L1 is not enough from block {last.hashed_from} on: edits there are larger than a batch, so L1 has only their "
        "hash"
    )


class OpenBody:
    """The body of the open batch, made of records.

    Remembers: its blocks, and the last block that it was asked to have room for. Fails: with `BatchOverflow` for a block
    that no batch can publish.
    """

    def __init__(
        self, publication: Publication, number: int, parent: Header, hashed_from: int = 0
    ) -> None:
        self.hashed_from = hashed_from
        """The first block of the chain whose edits are published by hash; 0 if there is none."""
        self._publication = publication
        self._last = parent
        self._rules = publication.rules_at(parent.number)
        self._builder = BodyBuilder(
            BatchHeader(
                number=number,
                first_block=parent.number + 1,
                parent_hash=parent.hash(),
                rules_hash=self._rules.hash(),
            )
        )
        self._asked: tuple[BlockRecord, PublishedBlock] | None = None

    @property
    def size(self) -> int:
        """How many bytes it has, before it is compressed."""
        return self._builder.size

    def has_room_for(self, record: BlockRecord) -> bool:
        """Return whether the next block fits; raises `BatchOverflow` if no batch could publish it."""
        has_room = self._builder.has_room_for(self._published(record))
        if not has_room and not self._builder.blocks:
            number = self._last.number + 1
            raise BatchOverflow(f"block {number} has more bytes than a batch can publish")
        return has_room

    def add(self, record: BlockRecord) -> None:
        """Add the next block."""
        block = self._published(record)
        self._builder.add(block)
        self._rules = block.rules or self._rules
        self._last = record.header()
        if isinstance(block.edits, EditsByHash) and not self.hashed_from:
            self.hashed_from = self._last.number
        self._asked = None

    def finish(self) -> bytes:
        """Return what is published: bytes that are the same only as long as the compressor is, so they are stored."""
        data = compress(self._builder.finish(Hash32(self._last.hash())))
        if len(data) > MAX_PUBLISHED_BYTES:
            raise BatchOverflow(
                f"a batch publishes {len(data)} bytes, and L1 takes {MAX_PUBLISHED_BYTES}"
            )
        return data

    def _published(self, record: BlockRecord) -> PublishedBlock:
        if self._asked is not None and self._asked[0] is record:
            return self._asked[1]
        before = RulesInForce(rules=self._rules, prices=self._builder.prices)
        try:
            block = self._publication.published(record, self._last, before)
        except NotPublishable as error:
            raise BatchOverflow(
                f"block {self._last.number + 1} cannot be published: {error}"
            ) from error
        self._asked = record, block
        return block
