"""Rebuild the trees of roots from the logs of L1, and compare every root with L1's own."""

from __future__ import annotations

import asyncio
import time
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from entresol._native import keccak256
from entresol.errors import InteropRootsMismatch, LayerOneMismatch, LayerOneRejected, MalformedValue
from entresol.l1.contracts import read_contract
from entresol.l1.discovery import find_deployment_block
from entresol.l1.layer_one import MAX_REORG_DEPTH, check_blocks, existing_block
from entresol.primitives import abi
from entresol.primitives.interop_roots import InteropRoot
from entresol.primitives.values import Address, Hash32
from entresol.rollup.interop.root_trees import (
    BatchFrontier,
    ChainTree,
    LeafTree,
    MessageTrees,
    batch_leaf,
    chain_leaf,
)
from entresol.storage.root_table import BatchPath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from entresol.l1.layer_one import L1Block, L1Log, LayerOne


class ChainLeafAdded(NamedTuple):
    """A chain has a leaf in the tree of all chains."""

    chain_id: int
    place: int


class LeftOutBundle(NamedTuple):
    """A bundle of a batch cannot be booked, so that the root that follows has an empty leaf for it."""

    chain_id: int
    batch: int
    leaf: int
    reason: bytes
    """The error, as the contract encodes it."""


class AppendedBatch(NamedTuple):
    """The root of a batch, without the bundles that are left out, is part of the tree of its chain."""

    chain_id: int
    batch: int
    batch_root: Hash32


class NewChainRoot(NamedTuple):
    """The tree of a chain has another root, and the chain another leaf."""

    chain_id: int
    chain_root: Hash32
    leaf: Hash32


class NewInteropRoot(NamedTuple):
    """There is another root over all chains; the last one of a block counts."""

    chain_id: int
    block_number: int
    log_id: int
    """How many roots the block had before."""
    timestamp: int
    sides: tuple[Hash32, ...]


RootEvent: TypeAlias = (
    ChainLeafAdded | LeftOutBundle | AppendedBatch | NewChainRoot | NewInteropRoot
)


_EVENTS: Final[dict[bytes, tuple[Callable[..., RootEvent], int, tuple[str, ...]]]] = {
    keccak256(b"AddedChain(uint256,uint256)"): (ChainLeafAdded, 2, ()),
    keccak256(b"BundleLeftOut(uint256,uint256,uint256,bytes)"): (LeftOutBundle, 3, ("bytes",)),
    keccak256(b"AppendedChainBatchRoot(uint256,uint256,bytes32)"): (AppendedBatch, 2, ("bytes32",)),
    keccak256(b"NewChainRoot(uint256,bytes32,bytes32)"): (NewChainRoot, 1, ("bytes32", "bytes32")),
    keccak256(b"NewInteropRoot(uint256,uint256,uint256,uint256,bytes32[])"): (
        NewInteropRoot,
        3,
        ("uint256", "bytes32[]"),
    ),
}
"""The indexed numbers of each event, and the types of the data after them."""


def _value(kind: str, value: Any) -> object:
    """Return a value of an event's data as its fields have it."""
    if kind == "bytes32[]":
        return tuple(map(Hash32, value))
    return Hash32(value) if kind == "bytes32" else value


def decode_event(log: L1Log) -> RootEvent:
    """Decode an event of the contract; raises `LayerOneMismatch` if it has no such one."""
    where = f"the log {log.index} of L1 block {log.block_number}"
    known = _EVENTS.get(bytes(log.topics[0])) if log.topics else None
    if known is None:
        raise LayerOneMismatch(f"{where} is not an event of the contract of roots")
    event, indexed, kinds = known
    if len(log.topics) != 1 + indexed:
        raise LayerOneMismatch(f"{where} has {len(log.topics)} topics instead of {1 + indexed}")
    types = f"({','.join(kinds)})"
    try:
        values = abi.decode(types, log.data)
    except MalformedValue as error:
        raise LayerOneMismatch(f"{where} is not readable: {error}") from error
    if abi.encode(types, values) != log.data:
        raise LayerOneMismatch(f"{where} has other data than its values")
    return event(*map(int.from_bytes, log.topics[1:]), *map(_value, kinds, values))


class MessageRootContract:
    """The contract with the roots of all chains."""

    def __init__(
        self, l1: LayerOne, address: Address, bridgehub: Address, first_block: int
    ) -> None:
        self.l1 = l1
        self.address = address
        self._bridgehub = bridgehub
        self.first_block = first_block
        """The L1 block from which on its logs are read: at that, no chain has a batch."""

    async def logs(self, first: int, last: int) -> list[L1Log]:
        """Return all logs in a range of blocks: it has no other events."""
        return await self.l1.logs(self.address, [], first, last)

    async def root_at(self, *blocks: int | Hash32) -> Hash32 | None:
        """Return the root over all chains as of the first of these blocks whose state L1 has; None without any."""
        found = await self._first("getAggregatedRoot()", "bytes32", blocks)
        return None if found is None else Hash32(found)

    async def historical_root(self, number: int, *blocks: int | Hash32) -> tuple[Hash32, int]:
        """Return the root of a block and its time, as of the first of some blocks whose state L1 has, or of the latest."""
        signature = "historicalRoot(uint256)"
        for block in (*blocks, None):
            call = abi.encode_call(signature, number)
            try:
                output = await self.l1.call(self.address, call, block=block)
                root, timestamp = abi.decode("(bytes32,uint256)", output)
            except LayerOneRejected:
                if block is None:
                    raise
                continue
            except MalformedValue as error:
                raise LayerOneMismatch(
                    f"no contract with {signature} at {self.address.checksummed()} on {self.l1.name}"
                ) from error
            return Hash32(root), timestamp
        raise AssertionError

    async def chain_ids(self, block: int) -> list[int] | None:
        """Return the chains that have a leaf as of a block, in the order of the leaves; None if one has a batch."""
        ids = await read_contract(
            self.l1, self._bridgehub, "getAllZKChainChainIDs()", "uint256[]", block=block
        )
        indices: dict[int, int] = {}
        for chain_id in ids:
            index = await self._read("chainIndex(uint256)", "uint256", chain_id, block=block)
            if index:
                indices[index] = chain_id
                if any(await self._read("getChainRoot(uint256)", "bytes32", chain_id, block=block)):
                    return None
        if sorted(indices) != list(range(1, len(indices) + 1)):
            raise LayerOneMismatch(f"{self.l1.name} has chains with the leaves {sorted(indices)}")
        return [indices[index] for index in sorted(indices)]

    async def _first(self, signature: str, returns: str, blocks: Sequence[int | Hash32]) -> Any:
        for block in blocks:
            try:
                return await self._read(signature, returns, block=block)
            except LayerOneRejected:
                # Not every node takes a hash, and only archive nodes have the state of old blocks.
                continue
        return None

    async def _read(
        self, signature: str, returns: str, *arguments: object, block: int | Hash32
    ) -> Any:
        return await read_contract(
            self.l1, self.address, signature, returns, *arguments, block=block
        )


_SLICE_SECONDS: Final = 0.005
_FINAL: Final = 1


class RootRange(NamedTuple):
    """The roots of a range of L1 blocks, and the trees at its end."""

    first: int
    last: L1Block
    trees: MessageTrees
    roots: Sequence[InteropRoot]
    """Roots that the chain imports: of the blocks in which another chain has appended a batch."""
    paths: Sequence[tuple[int, BatchPath]]
    """The paths of the chain's own batches that were appended."""


class RootReader:
    """Reads the roots of all chains for one of them.

    Every root is computed from the leaves, and compared with its event, with `historicalRoot` and, at the end of a
    range, with the contract's own, so that a log that is missing, moved or changed in any field is found out.
    """

    def __init__(self, contract: MessageRootContract, l1_chain_id: int, chain_id: int) -> None:
        self._contract = contract
        self._l1 = contract.l1
        self._l1_chain_id = l1_chain_id
        self._chain_id = chain_id

    async def begin(self) -> tuple[int, MessageTrees]:
        """Return the block after which logs are read first, and the trees there: chains of a genesis have no log."""
        first = self._contract.first_block
        found = await self._trees_at(first)
        if found is None:
            # The contract is older than this chain.
            first = await find_deployment_block(self._l1, self._contract.address)
            found = await self._trees_at(first)
        if found is None:
            raise LayerOneMismatch(
                f"{self._l1.name} has batches of before block {first}, but not the logs of them"
            )
        return first, found

    async def _trees_at(self, number: int) -> MessageTrees | None:
        """Return the trees as of a block without batches; None if it has some."""
        nothing = MessageTrees(self._l1_chain_id)
        try:
            root = await self._contract.root_at(number)
        except LayerOneMismatch:
            # The contract did not exist then.
            return nothing
        if root is None:
            return nothing
        chains = await self._contract.chain_ids(number)
        if chains is None:
            return None
        trees = MessageTrees(self._l1_chain_id, tuple(map(ChainTree, chains)))
        if trees.root() != root:
            raise LayerOneMismatch(
                f"{self._l1.name} has the root {root} at block {number}, but its chains {chains} have {trees.root()}"
            )
        return trees

    async def read(self, trees: MessageTrees, first: int, last: int) -> RootRange:
        """Return what the blocks from `first` to `last` make of the trees before them."""
        block = await existing_block(self._l1, last)
        logs = await self._contract.logs(first, last)
        replay = _Replay(trees, self._chain_id, self._l1.name)
        began = time.monotonic()
        for number, found in groupby(logs, key=lambda log: log.block_number):
            replay.add_block(number, list(found))
            if time.monotonic() - began > _SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.monotonic()
        await self._check_roots(replay, block)
        places = [(log.block_number, log.block_hash) for log in logs]
        await check_blocks(self._l1, first, block, places)
        return RootRange(first, block, replay.trees(), replay.imports, replay.paths)

    async def _check_roots(self, replay: _Replay, last: L1Block) -> None:
        """Raise `LayerOneMismatch` if the contract has other roots than those computed."""
        at = (last.hash, last.number)
        for number, timestamp, root in replay.roots:
            known = await self._contract.historical_root(number, *at)
            if known != (root, timestamp):
                raise InteropRootsMismatch(
                    f"{self._l1.name} has the root {known[0]} of time {known[1]} for block {number}, but its logs make "
                    f"{root} of time {timestamp}"
                )
        try:
            current = await self._contract.root_at(*at)
        except LayerOneMismatch:
            if replay.is_empty:
                # The contract does not exist yet.
                return
            raise
        if current is None:
            if await self._l1.block_number() - last.number <= MAX_REORG_DEPTH:
                raise LayerOneMismatch(
                    f"{self._l1.name} has no state of block {last.number} at the moment"
                )
        elif current != replay.root:
            raise InteropRootsMismatch(
                f"{self._l1.name} has the root {current} over all chains at block {last.number}, but its logs make "
                f"{replay.root}: some are missing"
            )


class _AppendedRoot(NamedTuple):
    """A batch that L1 has appended, and the leaves that it has left out, with its errors."""

    event: AppendedBatch
    left_out: dict[int, bytes]


class _Replay:
    """Trees that follow the logs of L1: each log must be the one that the contract emits then."""

    def __init__(self, trees: MessageTrees, chain_id: int, l1_name: str) -> None:
        self._l1_chain_id = trees.l1_chain_id
        self._chain_id = chain_id
        self._l1_name = l1_name
        self._ids = [chain.chain_id for chain in trees.chains]
        self._places = {chain_id: index for index, chain_id in enumerate(self._ids, start=1)}
        self._batches = {chain.chain_id: chain.batches for chain in trees.chains}
        self._tree = LeafTree(trees.leaves())
        self.roots: list[tuple[int, int, Hash32]] = []
        """Number and time of each block with roots, and its last one."""
        self.imports: list[InteropRoot] = []
        self.paths: list[tuple[int, BatchPath]] = []

    @property
    def root(self) -> Hash32:
        """The root over all chains."""
        return self._tree.root

    @property
    def is_empty(self) -> bool:
        """Whether there are no chains."""
        return not self._ids

    def trees(self) -> MessageTrees:
        """Return the trees as they are now."""
        chains = (ChainTree(chain_id, self._batches[chain_id]) for chain_id in self._ids)
        return MessageTrees(self._l1_chain_id, tuple(chains))

    def add_block(self, number: int, logs: Sequence[L1Log]) -> None:
        """Follow the logs of a block."""
        before = self._batches.get(self._chain_id, BatchFrontier())
        events = iter([decode_event(log) for log in logs])
        own: list[_AppendedRoot] = []
        others, count, timestamp = False, 0, None
        for event in events:
            match event:
                case ChainLeafAdded():
                    self._add_chain(event, number)
                    if not count:
                        continue
                case LeftOutBundle() | AppendedBatch():
                    batch = self._appended(event, events, number)
                    timestamp = self._append(batch.event, events, number, count, timestamp)
                    if batch.event.chain_id == self._chain_id:
                        own.append(batch)
                    else:
                        others = True
                    count += 1
                    continue
                case _:
                    raise self._unexpected(event, number)
            assert timestamp is not None
            self._expect(self._new_root(number, count, timestamp), next(events, None), number)
            count += 1
        if timestamp is None:
            return
        self.roots.append((number, timestamp, self.root))
        if others and self._chain_id in self._places:
            self.imports.append(InteropRoot.of(self._l1_chain_id, number, timestamp, self.root))
        self.paths += self._paths(number, timestamp, before, own)

    def _add_chain(self, event: ChainLeafAdded, number: int) -> None:
        if event.chain_id in self._places or event.place != len(self._tree):
            raise self._unexpected(event, number)
        self._ids.append(event.chain_id)
        self._places[event.chain_id] = event.place
        self._batches[event.chain_id] = BatchFrontier()
        self._tree.append(ChainTree(event.chain_id).leaf())

    def _appended(
        self, first: LeftOutBundle | AppendedBatch, events: Iterator[RootEvent], number: int
    ) -> _AppendedRoot:
        """Return what L1 has appended, whose event follows those of what it has left out."""
        event: RootEvent | None = first
        left_out = {}
        while isinstance(event, LeftOutBundle) and event[:2] == first[:2]:
            left_out[event.leaf] = event.reason
            event = next(events, None)
        if not isinstance(event, AppendedBatch) or event[:2] != first[:2]:
            raise self._unexpected(event, number)
        return _AppendedRoot(event, left_out)

    def _append(
        self,
        event: AppendedBatch,
        events: Iterator[RootEvent],
        number: int,
        count: int,
        timestamp: int | None,
    ) -> int:
        """Append a batch, and return the time of the block, which the event after the next one has."""
        place = self._places.get(event.chain_id)
        if place is None:
            raise self._unexpected(event, number)
        chain, root = next(events, None), next(events, None)
        if not isinstance(root, NewInteropRoot):
            raise self._unexpected(root, number)
        if timestamp is None:
            timestamp = root.timestamp
        leaf = batch_leaf(event.batch_root, event.batch, root.timestamp)
        self._batches[event.chain_id] = self._batches[event.chain_id].extend([leaf])
        chain_root = self._batches[event.chain_id].root()
        changed = Hash32(chain_leaf(chain_root, event.chain_id))
        self._expect(NewChainRoot(event.chain_id, chain_root, changed), chain, number)
        self._tree.set(place, changed)
        self._expect(self._new_root(number, count, timestamp), root, number)
        return timestamp

    def _new_root(self, number: int, count: int, timestamp: int) -> NewInteropRoot:
        return NewInteropRoot(self._l1_chain_id, number, count, timestamp, (self.root,))

    def _paths(
        self, number: int, timestamp: int, before: BatchFrontier, own: Sequence[_AppendedRoot]
    ) -> Iterator[tuple[int, BatchPath]]:
        """Yield the paths of batches, as of the end of the block that appended them."""
        place = self._places.get(self._chain_id, 0)
        chain_path = self._tree.path(place) if own else ()
        leaves = [batch_leaf(found.event.batch_root, found.event.batch, timestamp) for found in own]
        for index, ((event, left_out), path) in enumerate(
            zip(own, before.paths(leaves), strict=True)
        ):
            words = (
                timestamp.to_bytes(32),
                (before.count + index).to_bytes(32),
                *path,
                (number << 128 | place).to_bytes(32),
                self._l1_chain_id.to_bytes(32),
                bytes([1, len(chain_path), 0, _FINAL]).ljust(32, b"\0"),
                *chain_path,
            )
            yield (
                event.batch,
                BatchPath(
                    number, event.batch_root, self.root, len(path), b"".join(words), left_out
                ),
            )

    def _expect(self, expected: RootEvent, event: RootEvent | None, number: int) -> None:
        if event != expected:
            raise InteropRootsMismatch(
                f"{self._l1_name} has {_told(event)} in block {number}, but what came before makes {_told(expected)}"
            )

    def _unexpected(self, event: RootEvent | None, number: int) -> InteropRootsMismatch:
        return InteropRootsMismatch(
            f"{self._l1_name} has {_told(event)} in block {number}, which its contract cannot emit there"
        )


def _told(event: RootEvent | None) -> str:
    if event is None:
        return "no further event"
    fields = ", ".join(f"{name} {_shown(value)}" for name, value in event._asdict().items())
    return f"{type(event).__name__} ({fields})"


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
