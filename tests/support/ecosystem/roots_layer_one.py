"""An L1 with the contract of roots, played from plain trees, which tests reorganise and have lie."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from eth_abi import abi

from entresol._native import keccak256
from entresol.errors import LayerOneRejected
from entresol.l1.layer_one import DEFAULT_SENDER, L1Block, L1Finality, L1Log
from entresol.primitives.values import Address, Hash32
from entresol.rollup.interop.root_reader import MessageRootContract
from tests.support.contracts.bundles import (
    batch_leaf,
    chain_leaf,
    tree_levels,
    tree_path,
    tree_root,
)

L1_CHAIN_ID = 31337
MESSAGE_ROOT = Address(b"\x3e" * 20)
BRIDGEHUB = Address(b"\x3f" * 20)
START = 1_700_000_000

_SIGNATURES = {
    name: keccak256(signature.encode())
    for name, signature in {
        "AddedChain": "AddedChain(uint256,uint256)",
        "LeftOut": "BundleLeftOut(uint256,uint256,uint256,bytes)",
        "Appended": "AppendedChainBatchRoot(uint256,uint256,bytes32)",
        "NewChainRoot": "NewChainRoot(uint256,bytes32,bytes32)",
        "NewInteropRoot": "NewInteropRoot(uint256,uint256,uint256,uint256,bytes32[])",
    }.items()
}


@dataclass
class Books:
    """The trees as plain lists."""

    chains: list[int] = field(default_factory=list)
    batches: dict[int, list[bytes]] = field(default_factory=dict)

    def copy(self) -> Books:
        return Books(list(self.chains), {key: list(value) for key, value in self.batches.items()})

    def chain_root(self, chain_id: int) -> bytes:
        leaves = self.batches.get(chain_id, [])
        return tree_root(leaves) if leaves else bytes(32)

    def leaves(self) -> list[bytes]:
        found = [chain_leaf(self.chain_root(chain), chain) for chain in self.chains]
        return [chain_leaf(bytes(32), L1_CHAIN_ID), *found]

    def root(self) -> Hash32:
        return Hash32(tree_root(self.leaves()))

    def words(self, chain_id: int, place: int, block: int, timestamp: int) -> list[bytes]:
        """Return what a proof has after the words of the batch's own tree."""
        batch_path = tree_path(tree_levels(self.batches[chain_id]), place)
        index = 1 + self.chains.index(chain_id)
        chain_path = tree_path(tree_levels(self.leaves()), index)
        return [
            timestamp.to_bytes(32),
            place.to_bytes(32),
            *batch_path,
            (block << 128 | index).to_bytes(32),
            L1_CHAIN_ID.to_bytes(32),
            bytes([1, len(chain_path), 0, 1]) + bytes(28),
            *chain_path,
        ]


@dataclass
class _Played:
    block: L1Block
    logs: list[L1Log]
    books: Books
    root: tuple[bytes, int]


Action = tuple[str, int, int, bytes]


def added(chain_id: int) -> Action:
    return ("add", chain_id, 0, b"")


def appended(chain_id: int, batch: int, root: int | bytes | None = None) -> Action:
    if not isinstance(root, bytes):
        root = keccak256(bytes([batch % 256, chain_id % 256]) + (root or 0).to_bytes(32))
    return ("append", chain_id, batch, root)


def left_out(chain_id: int, batch: int, reasons: Mapping[int, bytes]) -> Action:
    """Return that the append that follows is without some leaves."""
    return ("leave out", chain_id, batch, abi.encode(["(uint256,bytes)[]"], [[*reasons.items()]]))


class RootsLayerOne:
    """A `LayerOne` whose blocks tests make; `lie` changes the logs that it returns."""

    name = "the L1 of the test"
    reorg_level = logging.DEBUG

    def __init__(self, *genesis: int) -> None:
        self._salt = 0
        self.blocks: list[_Played] = []
        self.requests: list[str] = []
        self.lie: Callable[[list[L1Log]], list[L1Log]] | None = None
        self.historical: Callable[[int], tuple[bytes, int]] | None = None
        self.aggregated: bytes | None = None
        self.states: int | None = None
        self._woken = asyncio.Event()
        books = Books(list(genesis), {chain: [] for chain in genesis})
        self._add(books, [])

    @property
    def books(self) -> Books:
        return self.blocks[-1].books

    @property
    def number(self) -> int:
        return len(self.blocks) - 1

    def contract(self, first_block: int = 0) -> MessageRootContract:
        return MessageRootContract(self, MESSAGE_ROOT, BRIDGEHUB, first_block)  # type: ignore[arg-type]

    def mine(self, *actions: Action) -> int:
        number = len(self.blocks)
        time = START + 12 * number
        books, count = self.books.copy(), 0
        events: list[tuple[str, list[int], bytes]] = []

        def publish() -> None:
            nonlocal count
            data = abi.encode(["uint256", "bytes32[]"], [time, [books.root()]])
            events.append(("NewInteropRoot", [L1_CHAIN_ID, number, count], data))
            count += 1

        for kind, chain_id, batch, root in actions:
            if kind == "add":
                books.chains.append(chain_id)
                books.batches[chain_id] = []
                events.append(("AddedChain", [chain_id, len(books.chains)], b""))
                if count:
                    publish()
                continue
            if kind == "leave out":
                (found,) = abi.decode(["(uint256,bytes)[]"], root)
                for leaf, reason in found:
                    data = abi.encode(["bytes"], [reason])
                    events.append(("LeftOut", [chain_id, batch, leaf], data))
                continue
            books.batches[chain_id].append(batch_leaf(root, batch, time))
            chain_root = books.chain_root(chain_id)
            events.append(("Appended", [chain_id, batch], root))
            leaf = chain_leaf(chain_root, chain_id)
            events.append(("NewChainRoot", [chain_id], chain_root + leaf))
            publish()
        self._add(books, events, (books.root(), time) if count else (bytes(32), 0))
        return number

    def _add(
        self,
        books: Books,
        events: Sequence[tuple[str, list[int], bytes]],
        root: tuple[bytes, int] = (bytes(32), 0),
    ) -> None:
        number = len(self.blocks)
        block_hash = Hash32(keccak256(self._salt.to_bytes(8) + number.to_bytes(8)))
        parent = self.blocks[-1].block.hash if self.blocks else Hash32.zero()
        block = L1Block(
            number=number,
            hash=block_hash,
            parent_hash=parent,
            timestamp=root[1] or START + 12 * number,
            base_fee=1,
        )
        logs = [
            L1Log(
                address=MESSAGE_ROOT,
                topics=tuple(
                    map(Hash32, [_SIGNATURES[name], *(topic.to_bytes(32) for topic in topics)])
                ),
                data=data,
                block_number=number,
                block_hash=block_hash,
                transaction_hash=Hash32.zero(),
                index=index,
            )
            for index, (name, topics, data) in enumerate(events)
        ]
        self.blocks.append(_Played(block, logs, books, root))
        self._woken.set()

    def reorg(self, last: int) -> None:
        """Drop the blocks after `last`; those that follow have other hashes."""
        del self.blocks[last + 1 :]
        self._salt += 1

    # As `LayerOne`

    async def chain_id(self) -> int:
        return L1_CHAIN_ID

    async def block_number(self, tag: L1Finality = "latest") -> int:  # noqa: ARG002
        self.requests.append("block_number")
        return self.number

    async def block(self, number: int) -> L1Block | None:
        self.requests.append("block")
        return self.blocks[number].block if 0 <= number <= self.number else None

    async def logs(
        self, address: Address, topics: Sequence[Hash32], first: int, last: int
    ) -> list[L1Log]:
        assert address == MESSAGE_ROOT
        assert not topics
        self.requests.append("logs")
        found = [log for block in self.blocks[first : last + 1] for log in block.logs]
        return found if self.lie is None else self.lie(found)

    async def code(self, address: Address, block: int | None = None) -> bytes:  # noqa: ARG002
        """Return some code: the contract is there from the first block on."""
        return b"\1"

    async def call(
        self,
        to: Address,  # noqa: ARG002
        data: bytes,
        *,
        sender: Address = DEFAULT_SENDER,  # noqa: ARG002
        block: int | Hash32 | None = None,
    ) -> bytes:
        self.requests.append("call")
        played = self._played(block)
        books, selector = played.books, data[:4]
        word = int.from_bytes(data[4:36])
        if selector == _selector("getAggregatedRoot()"):
            return self.aggregated or books.root()
        if selector == _selector("historicalRoot(uint256)"):
            root = self.blocks[word].root
            if self.historical is not None:
                root = self.historical(word)
            return abi.encode(["bytes32", "uint256"], root)
        if selector == _selector("chainIndex(uint256)"):
            index = 1 + books.chains.index(word) if word in books.chains else 0
            return index.to_bytes(32)
        if selector == _selector("getChainRoot(uint256)"):
            return books.chain_root(word)
        if selector in _NOTHING:
            return bytes(32)
        assert selector == _selector("getAllZKChainChainIDs()")
        return abi.encode(["uint256[]"], [books.chains])

    async def wait_for_block(self, seconds: float) -> None:  # noqa: ARG002
        await self._woken.wait()
        self._woken.clear()

    async def close(self) -> None:
        """Do nothing."""

    def _played(self, block: int | Hash32 | None) -> _Played:
        found = [
            word
            for word in self.blocks
            if block is None or block in (word.block.number, word.block.hash)
        ]
        if not found:
            raise LayerOneRejected("eth_call", -32000, "there is no such block")
        is_pruned = self.states is not None and found[-1].block.number <= self.number - self.states
        if block is not None and is_pruned:
            raise LayerOneRejected("eth_call", -32000, "missing trie node")
        return found[-1]


def _selector(signature: str) -> bytes:
    return keccak256(signature.encode())[:4]


_NOTHING = {
    _selector(f"getTotal{what}()")
    for what in ("PriorityTxs", "BatchesCommitted", "BatchesVerified", "BatchesExecuted")
}


def changed(log: L1Log, **fields: Any) -> L1Log:
    return msgspec.structs.replace(log, **fields)
