"""Bundles from one chain to another, encoded plainly, and the trees over the roots of chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from eth_abi import abi

from entresol._native import keccak256
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    L2_ASSET_ROUTER,
    OTHER_CHAIN_ID,
)
from tests.support.contracts.merkle_trees import message_log

INTEROP_CENTER = Address((0x1000D).to_bytes(20))
BUNDLE = "(bytes1,uint256,uint256,bytes32,bytes32,(bytes1,bool,address,address,uint256,bytes)[],(bytes,bytes,bool))"
FINALIZE = bytes.fromhex("9c884fd1")
EMPTY_ENTRY = keccak256(bytes(96))
BATCH_LEAF = keccak256(b"zkSync:BatchLeaf")
CHAIN_LEAF = keccak256(b"zkSync:ChainIdLeaf")


@dataclass(frozen=True, kw_only=True)
class Call:
    to: Address
    sender: Address
    value: int = 0
    data: bytes = b""
    version: bytes = b"\1"
    shadow_account: bool = False

    def encoded(self) -> tuple[object, ...]:
        return (self.version, self.shadow_account, self.to, self.sender, self.value, self.data)


@dataclass(frozen=True, kw_only=True)
class PlainBundle:
    calls: Sequence[Call]
    base_token: Hash32
    source: int = CHAIN_ID
    destination: int = OTHER_CHAIN_ID
    salt: bytes = bytes(32)
    version: bytes = b"\1"
    attributes: tuple[bytes, bytes, bool] = field(default=(b"", b"", False))

    def encode(self) -> bytes:
        calls = [call.encoded() for call in self.calls]
        values = (
            self.version, self.source, self.destination, self.base_token, self.salt, calls, self.attributes,
        )  # fmt: skip
        return abi.encode([BUNDLE], [values])

    def message(self) -> bytes:
        return b"\1" + self.encode()

    def log(self, tx_number: int = 0) -> L2ToL1Log:
        return message_log(tx_number, INTEROP_CENTER, self.message())


def described(origin: int) -> bytes:
    texts = [abi.encode(["string"], [name]) for name in ("Two", "TWO")]
    types = ["uint256", "bytes", "bytes", "bytes"]
    return b"\1" + abi.encode(types, [origin, *texts, abi.encode(["uint8"], [6])])


def mint_of(token: Address, amount: int, metadata: bytes = b"", receiver: Address = BOB) -> bytes:
    """Return by which data a vault pays an asset of Alice's to somebody."""
    types = ["address", "address", "address", "uint256", "bytes"]
    return abi.encode(types, [ALICE, receiver, token, amount, metadata])


def asset_call(asset: Hash32, mint: bytes, source: int = CHAIN_ID) -> Call:
    arguments = abi.encode(["uint256", "bytes32", "bytes"], [source, asset, mint])
    return Call(to=L2_ASSET_ROUTER, sender=L2_ASSET_ROUTER, data=FINALIZE + arguments)


def tree_levels(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """Return a tree with the fewest levels, from its leaves to its root; what is missing is left out."""
    levels, empty = [list(leaves)], EMPTY_ENTRY
    while len(levels[-1]) > 1:
        nodes = [*levels[-1], empty]
        levels.append([keccak256(a + b) for a, b in zip(nodes[::2], nodes[1::2], strict=False)])
        empty = keccak256(empty + empty)
    return levels


def tree_root(leaves: Sequence[bytes]) -> bytes:
    return tree_levels(leaves)[-1][0]


def tree_path(levels: Sequence[Sequence[bytes]], index: int) -> list[bytes]:
    path, empty = [], EMPTY_ENTRY
    for level in levels[:-1]:
        sibling = index ^ 1
        path.append(level[sibling] if sibling < len(level) else empty)
        empty, index = keccak256(empty + empty), index >> 1
    return path


def batch_leaf(root: bytes, number: int, timestamp: int) -> bytes:
    return keccak256(BATCH_LEAF + root + number.to_bytes(32) + timestamp.to_bytes(32))


def chain_leaf(root: bytes, chain_id: int) -> bytes:
    return keccak256(CHAIN_LEAF + root + chain_id.to_bytes(32))
