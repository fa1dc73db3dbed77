"""`--fork-verify`: headers against their hashes, and receipts against the roots of their blocks.

Accounts and slots are proven where they are read (`state_fetch`), by `proofs`. What is trusted is one hash: that of the
anchor, which a user pins by `--fork-block-hash`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from entresol._native import keccak256, ordered_root, rlp_encode
from entresol.errors import (
    MalformedValue,
    ProofsUnavailable,
    RemoteLied,
)
from entresol.fork import results
from entresol.fork.past_blocks import PastBlocks
from entresol.fork.results import DescribedBlock
from entresol.fork.transport.client import ForkClient
from entresol.l1.remote.results import quantity
from entresol.primitives import rlp
from entresol.primitives.values import Address, Bloom, Data, Hash32

T = TypeVar("T")

BLOCK_RECEIPTS: Final = "eth_getBlockReceipts"
RECEIPT: Final = "eth_getTransactionReceipt"
HashesOf: TypeAlias = Callable[[Sequence[int]], Awaitable[dict[int, bytes]]]
"""Returns the hashes of blocks below the anchor, as its state or linked headers prove them."""
_HASH_DIGITS: Final = 66
_BLOCKS: Final = frozenset({"eth_getBlockByHash", "eth_getBlockByNumber"})


def check_header(host: str, block: DescribedBlock) -> None:
    """Raise `ProofsUnavailable` if the header of the anchor does not have its hash: nothing can be proven by it then."""
    if not has_hash(block):
        raise ProofsUnavailable(
            host,
            f"the header of block {block.number} does not have the hash {block.hash}: it is not a header of Ethereum, "
            "or false",
        )


def has_hash(block: DescribedBlock) -> bool:
    """Return whether the header of a block has its hash."""
    return Hash32(keccak256(rlp_encode(block.header.to_rlp()))) == block.hash


class VerifiedReads:
    """Checks what is read of past blocks: headers have their hashes, and receipts the root of their block."""

    def __init__(self, client: ForkClient | None, past: PastBlocks, hashes: HashesOf) -> None:
        self._client = client
        self._past = past
        self._hashes = hashes

    async def checked(self, method: str, params: Sequence[object], raw: msgspec.Raw) -> None:
        """Raise `RemoteLied` if a result is false; methods that cannot be checked pass."""
        if self._client is None or bytes(raw) == b"null":
            return
        if method in _BLOCKS:
            block = results.described_block(self._host, method, raw)
            if block is not None and block.number <= self._past.anchor.number:
                await self._check_block(method, params[0], block)
        elif method == BLOCK_RECEIPTS:
            await self._check_receipts(method, params[0], raw)
        elif method == RECEIPT:
            await self._check_receipt(method, params[0], raw)

    async def _check_block(self, method: str, wanted: object, block: DescribedBlock) -> None:
        """Check that a header has its hash, is the one that was asked for, and is below the anchor."""
        problem = ""
        if not has_hash(block):
            problem = f"the header does not have the hash {block.hash}"
        elif wanted not in (str(block.hash), hex(block.number)):
            problem = f"it is block {block.number}, {block.hash}, and not {wanted}"
        elif (await self._hashes([block.number])).get(block.number) != block.hash:
            problem = f"block {block.number} is not an ancestor of the anchor"
        if problem:
            raise RemoteLied(self._host, method, problem)

    async def _check_receipt(self, method: str, wanted_hash: object, raw: bytes) -> None:
        """Check one receipt by all of its block."""
        assert self._client is not None
        fields = results.decoded(self._host, method, raw, results.mapping)
        block_hash, wanted = self._told(
            method, lambda: (results.member(fields, "blockHash", Hash32.parse), _encoded(fields))
        )
        block = await self._past.block(block_hash)
        if block is None:
            # Above the anchor, where nothing is shown.
            return
        receipts = await self._client.request(BLOCK_RECEIPTS, str(block_hash))
        members = await self._check_receipts(BLOCK_RECEIPTS, str(block_hash), receipts)
        index = self._told(
            method, lambda: results.member(fields, "transactionIndex", results.number)
        )
        if index >= len(members) or members[index] != wanted:
            raise RemoteLied(self._host, method, f"the receipt is not in block {block_hash}")
        if fields.get("transactionHash") != wanted_hash:
            raise RemoteLied(self._host, method, f"the receipt is not that of {wanted_hash}")

    async def _check_receipts(self, method: str, wanted: object, raw: bytes) -> list[bytes]:
        """Check the receipts of a block, and return them encoded."""
        receipts = results.decoded(self._host, method, raw, _receipts)
        encoded = self._told(method, lambda: [_encoded(it) for it in receipts])
        named = str(wanted)
        is_hash = len(named) == _HASH_DIGITS
        block = await self._past.block(Hash32.parse(named) if is_hash else int(named, 16))
        if block is None:
            return encoded
        await self._check_block(method, str(block.hash), block)
        if block.header.receipts_root != ordered_root(encoded):
            problem = f"the receipts do not have the root of block {block.hash}"
            raise RemoteLied(self._host, method, problem)
        return encoded

    def _told(self, method: str, decode: Callable[[], T]) -> T:
        """Return what a result says; a receipt that cannot be encoded is false."""
        try:
            return decode()
        except MalformedValue as error:
            raise RemoteLied(self._host, method, str(error)) from error

    @property
    def _host(self) -> str:
        assert self._client is not None
        return self._client.host


def _receipts(result: Any) -> list[dict[str, Any]]:
    if not isinstance(result, list):
        raise MalformedValue("receipts are an array")
    return [results.mapping(it) for it in result]


def _encoded(receipt: dict[str, Any]) -> bytes:
    """Return a receipt as its trie has it."""
    logs = receipt.get("logs")
    if not isinstance(logs, list):
        raise MalformedValue("logs are an array")
    if receipt.get("status") is not None:
        outcome: bytes = rlp.encode_uint(results.member(receipt, "status", quantity(1)))
    else:
        outcome = results.member(receipt, "root", Hash32.parse)
    item: list[Any] = [
        outcome,
        rlp.encode_uint(results.member(receipt, "cumulativeGasUsed", results.nonce)),
        results.member(receipt, "logsBloom", Bloom.parse),
        [_log(results.mapping(it)) for it in logs],
    ]
    kind = results.member(receipt, "type", quantity(0x7F)) if "type" in receipt else 0
    return (bytes([kind]) if kind else b"") + rlp_encode(item)


def _log(log: dict[str, Any]) -> list[Any]:
    topics = log.get("topics")
    if not isinstance(topics, list):
        raise MalformedValue("topics are an array")
    return [
        results.member(log, "address", Address.parse),
        [Hash32.parse(it) for it in topics],
        bytes(results.member(log, "data", Data.parse)),
    ]
