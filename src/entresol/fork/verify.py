"""`--fork-verify`: headers against their hashes, and receipts against the roots of their blocks.

Accounts and slots are proven where they are read (`state_fetch`), by `proofs`. What is trusted is one hash: that of the
anchor, which a user pins by `--fork-block-hash`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

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
from entresol.primitives import rlp
from entresol.primitives.values import Address, Bloom, Data, Hash32

T = TypeVar("T")

BLOCK_RECEIPTS: Final = "eth_getBlockReceipts"
RECEIPT: Final = "eth_getTransactionReceipt"
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

    def __init__(self, client: ForkClient | None, past: PastBlocks) -> None:
        self._client = client
        self._past = past

    async def checked(self, method: str, raw: msgspec.Raw) -> None:
        """Raise `RemoteLied` if a result is false; methods that cannot be checked pass."""
        if self._client is None or bytes(raw) == b"null":
            return
        if method in _BLOCKS:
            self._check_block(method, raw)
        elif method == BLOCK_RECEIPTS:
            await self._check_receipts(method, raw)
        elif method == RECEIPT:
            await self._check_receipt(method, raw)

    def _check_block(self, method: str, raw: bytes) -> None:
        host = self._host
        block = results.described_block(host, method, raw)
        if block is not None and not has_hash(block):
            raise RemoteLied(host, method, f"the header does not have the hash {block.hash}")

    async def _check_receipt(self, method: str, raw: bytes) -> None:
        """Check one receipt by all of its block."""
        assert self._client is not None
        fields = results.decoded(self._host, method, raw, results.mapping)
        block_hash, wanted = self._told(
            method, lambda: (results.member(fields, "blockHash", Hash32.parse), _encoded(fields))
        )
        receipts = await self._client.request(BLOCK_RECEIPTS, str(block_hash))
        members = await self._check_receipts(BLOCK_RECEIPTS, receipts)
        if wanted not in members:
            raise RemoteLied(self._host, method, f"the receipt is not in block {block_hash}")

    async def _check_receipts(self, method: str, raw: bytes) -> list[bytes]:
        """Check the receipts of a block, and return them encoded."""
        receipts = results.decoded(self._host, method, raw, _receipts)
        if not receipts:
            return []
        block_hash, encoded = self._told(
            method,
            lambda: (
                results.member(receipts[0], "blockHash", Hash32.parse),
                [_encoded(it) for it in receipts],
            ),
        )
        block = await self._past.block(block_hash)
        if (
            block is None
            or not has_hash(block)
            or block.header.receipts_root != ordered_root(encoded)
        ):
            problem = f"the receipts do not have the root of block {block_hash}"
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
        outcome: bytes = rlp.encode_uint(results.member(receipt, "status", results.quantity(1)))
    else:
        outcome = results.member(receipt, "root", Hash32.parse)
    item: list[Any] = [
        outcome,
        rlp.encode_uint(results.member(receipt, "cumulativeGasUsed", results.nonce)),
        results.member(receipt, "logsBloom", Bloom.parse),
        [_log(results.mapping(it)) for it in logs],
    ]
    kind = results.member(receipt, "type", results.quantity(0x7F)) if "type" in receipt else 0
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
