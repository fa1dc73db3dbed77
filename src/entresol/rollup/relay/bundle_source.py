"""The bundles that a chain of this process has sent, read from its blocks by a cursor."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.chain.logs import logs_of_block
from entresol.errors import MalformedValue
from entresol.primitives.interop.bundles import BUNDLE_SENT, INTEROP_CENTER, InteropBundle
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.storage.log_index import LogQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.chain.chain import Chain
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.values import Hash32
    from entresol.rollup.relay.proofs import RelayProofs

LOOKBACK_BLOCKS: Final = 20_000
"""How far back a start looks for bundles that nobody has executed."""
BLOCKS_AT_ONCE: Final = 64
"""How many blocks with bundles a step reads at most."""

_QUERY: Final = LogQuery(
    addresses=frozenset({bytes(INTEROP_CENTER)}), topics=(frozenset({bytes(BUNDLE_SENT)}),)
)


class OpenBundle(NamedTuple):
    """A bundle that was sent, and where."""

    hash: Hash32
    source: int
    destination: int
    block: int
    block_hash: Hash32
    transaction: Hash32
    transaction_index: int
    """In its block, as receipts have it."""
    position: int
    """Of its message among those of the transaction."""
    sender: bytes
    """The account whose transaction has sent it."""
    encoded: bytes
    is_for_anyone: bool
    """Whether it names no execution address."""


class BundleSource:
    """Reads the bundles of one chain for another, in the order of its blocks, each once unless blocks are reverted.

    Those that name an execution address are left out: that account executes them itself.
    Remembers: how far it has read; a start looks back some blocks. Persists: nothing: whether a bundle is open, its
    destination says. Assumes: the event loop whose thread changes the chain; blocks are read on a thread. Fails: never.
    """

    def __init__(self, chain: Chain, destination: int, proofs: RelayProofs) -> None:
        self.chain = chain
        self.chain_id = chain.rules.chain_id
        self.proofs = proofs
        self._destination = destination
        self._next = 0
        self._taken = 0
        """How many bundles of the block `_next` were returned."""
        self._reads = 0
        """How often it has begun to read."""
        self.look_back()

    def look_back(self) -> None:
        """Read the last blocks again, after a revert: others may be there, or what was executed is open again."""
        self._next = max(self.chain.ledger.first, self.chain.number + 1 - LOOKBACK_BLOCKS)
        self._taken = 0
        self._reads += 1

    @property
    def has_more(self) -> bool:
        """Whether there are blocks that it has not read."""
        return self._next <= self.chain.number

    def has(self, bundle: OpenBundle) -> bool:
        """Return whether the chain still has the block of a bundle."""
        return self.chain.blocks.block_hash(bundle.block) == bundle.block_hash

    async def read(self, room: int) -> list[OpenBundle]:
        """Return up to `room` further bundles, of so many blocks as a step may read."""
        found: list[OpenBundle] = []
        for _ in range(BLOCKS_AT_ONCE):
            first, head = self._next, self.chain.number
            if len(found) >= room or first > head:
                break
            number = next(iter(self.chain.blocks.blocks_with_logs(_QUERY, first, head)), None)
            if number is None:
                self._next, self._taken = head + 1, 0
                break
            taken = self._taken if number == first else 0
            record = self.chain.blocks.get_record(number)
            if record is None:
                break
            reads = self._reads
            bundles = await asyncio.to_thread(self._open_in, record)
            if self._reads != reads:
                # Blocks were reverted meanwhile.
                break
            some = bundles[taken : taken + room - len(found)]
            found += some
            is_read = taken + len(some) == len(bundles)
            self._next, self._taken = (number + 1, 0) if is_read else (number, taken + len(some))
        return found

    def _open_in(self, record: BlockRecord) -> list[OpenBundle]:
        found = bundles_of(record, self.chain_id)
        return [it for it in found if it.is_for_anyone and it.destination == self._destination]


def bundles_of(record: BlockRecord, chain_id: int) -> Iterator[OpenBundle]:
    """Yield the bundles that a block has sent; what the center cannot have written is left out."""
    for log in logs_of_block(record, _QUERY):
        try:
            _, bundle_hash, bundle = InteropBundle.of_event(log.data)
        except MalformedValue:
            continue
        logs = record.results[log.transaction_index].logs[: log.index_in_transaction]
        messages = sum(
            address == L1_MESSENGER and topics[:1] == (L1_MESSAGE_SENT,)
            for address, topics, _ in logs
        )
        yield OpenBundle(
            hash=bundle_hash,
            source=chain_id,
            destination=bundle.destination,
            block=log.block_number,
            block_hash=log.block_hash,
            transaction=log.transaction_hash,
            transaction_index=log.transaction_index,
            # The message of a bundle is the last one before its event.
            position=messages - 1,
            sender=bytes(record.transactions[log.transaction_index][1]),
            encoded=bundle.encode(),
            is_for_anyone=not bundle.executor,
        )
