"""Execute the bundles of other chains on an L2 that anybody may execute."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import keccak256
from entresol.chain.events import BLOCK_EVENTS, BlocksReverted
from entresol.chain.logs import logs_of_block
from entresol.contracts import artifact
from entresol.errors import MalformedValue
from entresol.features.relay.dispatch import Dispatch, Relay, words_of
from entresol.features.relay.relay_account import RelayCall
from entresol.primitives import abi
from entresol.primitives.interop_bundles import (
    BUNDLE_SENT,
    INTEROP_CENTER,
    INTEROP_HANDLER,
    VERSION,
    InteropBundle,
)
from entresol.primitives.interop_roots import ROOT_STORAGE
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.values import Hash32
from entresol.rollup.step_loop import Backoff, StepLoop
from entresol.rollup.system_contracts import BRIDGEHUB
from entresol.rollup.work_queue import MAX_OPEN, WorkQueue
from entresol.storage.log_index import LogQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.features.relay.dispatch import RelayProofs
    from entresol.features.relay.relay_account import RelayAccount
    from entresol.primitives.l2_to_l1_logs import ProvenLog
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.values import Address

LOOKBACK_BLOCKS: Final = 20_000
"""How far back a start looks for bundles that nobody has executed."""
BLOCKS_AT_ONCE: Final = 64
"""How many blocks with bundles a step reads at most."""

_QUERY: Final = LogQuery(
    addresses=frozenset({bytes(INTEROP_CENTER)}), topics=(frozenset({bytes(BUNDLE_SENT)}),)
)

log = logging.getLogger(__name__)

MAX_TRIED: Final = 16
"""How many bundles a step tries, before it reads further ones."""
READ_AT_ONCE: Final = 100
"""How many bundles of a source a step reads."""
MAX_WAITING: Final = 8
"""How many blocks of a source whose roots have not arrived a step looks at."""
_EXECUTE: Final = "executeBundle(bytes,(uint256,uint256,uint256,(uint16,address,bytes),bytes32[]))"
_VERIFIED: Final = 1
"""The last status of a bundle that can be executed."""


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
    """The position of its message among those of the transaction."""
    sender: bytes
    """The account whose transaction has sent it."""
    encoded: bytes
    is_for_anyone: bool
    """Whether it names no execution address."""


class BundleSource:
    """Reads the bundles of one chain for another, in the order of its blocks, each once unless blocks are reverted.

    Those that name an execution address are left out: that account executes them itself.
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
        return [
            bundle
            for bundle in found
            if bundle.is_for_anyone and bundle.destination == self._destination
        ]


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


class BundleRelay(Relay[Hash32, OpenBundle]):
    """Executes on one chain what others have sent to it: each bundle that names no execution address, once.

    Fails: what reverts or needs too much gas is tried again later and later; an account without funds is a `problem`.
    """

    def __init__(  # noqa: PLR0913 - independent settings
        self,
        chain: Chain,
        l1_chain_id: int,
        account: RelayAccount,
        *,
        max_gas: int,
        interval: float = 0.0,
        limit: int = MAX_OPEN,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chain = chain
        self._l1_chain_id = l1_chain_id
        self._interval = interval
        self._clock = clock
        self._sources: dict[int, BundleSource] = {}
        self._queue: WorkQueue[Hash32, OpenBundle] = WorkQueue(limit=limit)
        self._dispatch = Dispatch(self._queue, account, max_gas, clock, _failing)
        self._steps = StepLoop(
            self._step,
            log,
            failing=f"the relay of chain {chain.rules.chain_id} cannot execute bundles",
            recovered=f"the relay of chain {chain.rules.chain_id} executes bundles again",
            backoff=Backoff(0.5),
        )
        chain.events.listen(self._on_block, *BLOCK_EVENTS)

    def reason(self, bundle: Hash32) -> str | None:
        """Return why it has not executed a bundle when it last tried; None if it has not tried."""
        return self._queue.reason(bundle)

    def has(self, chain_id: int) -> bool:
        """Return whether it executes the bundles of a chain."""
        return chain_id in self._sources

    def add(self, source: BundleSource) -> None:
        """Execute the bundles of one more chain."""
        self._sources[source.chain_id] = source
        source.chain.events.listen(self._on_block, *BLOCK_EVENTS)
        self._steps.wake()

    def close(self) -> None:
        """Follow no chain any more."""
        for chain in (self._chain, *(source.chain for source in self._sources.values())):
            chain.events.remove(self._on_block)

    async def step(self) -> float:
        """Read, execute what can be, and return the seconds until there is something to do without a new block."""
        now = self._clock()
        await self._hold_more(now)
        await self._dispatch.follow()
        has_more = await self._try_some(now)
        unread = any(
            source.has_more and self._queue.room(source.chain_id)
            for source in self._sources.values()
        )
        if has_more or unread:
            return 0.0
        due = self._queue.next_due(now)
        return math.inf if due is None else max(0.0, due - self._clock())

    async def _hold_more(self, now: float) -> None:
        incomplete = self._queue.to_look_back(now)
        for chain_id, source in tuple(self._sources.items()):
            if chain_id in incomplete:
                source.look_back()
            if source.has_more:
                self._queue.make_room(READ_AT_ONCE, now, chain_id)
            for bundle in await source.read(min(self._queue.room(chain_id), READ_AT_ONCE)):
                if self._queue.room(chain_id) and not self._is_done(bundle):
                    self._queue.add(bundle.hash, bundle, now, source=chain_id, sender=bundle.sender)

    async def _try_some(self, now: float) -> bool:
        """Try some of what is due, and return whether there may be more to try at once."""
        tried = 0
        waits: dict[int, set[int]] = {}
        """The blocks of each source whose roots have not arrived: later ones hardly ever have then."""
        for key, bundle in self._queue.due(now):
            if self._dispatch.is_full:
                return False
            if tried >= MAX_TRIED:
                # What others have sent meanwhile comes before what is left.
                return True
            waiting = waits.setdefault(bundle.source, set())
            if bundle.block not in waiting and len(waiting) < MAX_WAITING:
                tried += await self._dispatch.attempt(key, partial(self._call, bundle, waiting))
        return False

    async def _step(self) -> float:
        return max(await self.step(), self._interval)

    def _on_block(self, event: Event) -> None:
        if isinstance(event, BlocksReverted):
            for source in self._sources.values():
                source.look_back()
            self._queue.remove_if(lambda bundle: not self._sources[bundle.source].has(bundle))
        if not self._interval:
            self._steps.wake()

    async def _call(self, bundle: OpenBundle, waiting: set[int]) -> RelayCall | None:
        """Return the call that executes a bundle; None if it has to wait, or was executed, which is forgotten."""
        source = self._sources[bundle.source]
        proof = await source.proofs.prove(bundle.transaction, bundle.position)
        if proof is None or not self._has_root(proof.proof.l1_block):
            waiting.add(bundle.block)
        elif self._is_done(bundle):
            self._queue.remove(bundle.hash)
        elif self._is_registered(bundle.source):
            return RelayCall(INTEROP_HANDLER, execute_call(bundle, proof))
        return None

    def _is_done(self, bundle: OpenBundle) -> bool:
        """Return whether it is executed or unbundled, or was reverted where it was sent."""
        status = self._read(INTEROP_HANDLER, "InteropHandler", "bundleStatus", bytes(bundle.hash))
        return status > _VERIFIED or not self._sources[bundle.source].has(bundle)

    def _has_root(self, l1_block: int | None) -> bool:
        if l1_block is None:
            return False
        path = (self._l1_chain_id, l1_block)
        return self._read(ROOT_STORAGE, "L2InteropRootStorage", "interopRoots", *path) != 0

    def _is_registered(self, source: int) -> bool:
        return self._read(BRIDGEHUB, "L2Bridgehub", "_baseTokens", source) != 0

    def _read(self, address: Address, name: str, variable: str, *path: int | bytes) -> int:
        return int.from_bytes(self._chain.latest.slot(address, _slot(name, variable, *path)))


def _failing(bundle: OpenBundle) -> str:
    return f"bundle {bundle.hash} of chain {bundle.source} cannot be executed on chain {bundle.destination}"


def execute_call(bundle: OpenBundle, proof: ProvenLog) -> bytes:
    """Return the call that executes a bundle."""
    message = (proof.log.tx_number, INTEROP_CENTER, VERSION + bundle.encoded)
    claim = (bundle.source, proof.batch, proof.proof.id, message, words_of(proof))
    return abi.encode_call(_EXECUTE, bundle.encoded, claim)


@cache
def _base(name: str, variable: str) -> int:
    return next(member.slot for member in artifact(name).storage_layout if member.label == variable)


def _slot(name: str, variable: str, *path: int | bytes) -> Hash32:
    """Return the slot of an entry of a mapping, or of one in that."""
    slot = _base(name, variable).to_bytes(32)
    for key in path:
        slot = keccak256((key.to_bytes(32) if isinstance(key, int) else key) + slot)
    return Hash32(slot)
