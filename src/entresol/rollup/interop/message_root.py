"""The contract `MessageRoot` on L1: its events and what it says of roots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from entresol._native import keccak256
from entresol.errors import LayerOneMismatch, LayerOneRejected, MalformedValue
from entresol.l1.contracts import read_contract
from entresol.primitives import abi
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.l1.layer_one import L1Log, LayerOne


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
