"""Read from a remote chain what a replay needs: a block, its transactions and their receipts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from entresol.errors import MalformedValue, RemoteMalformed, RemoteRejected
from entresol.fork.hardforks import marks_of
from entresol.fork.replay.block_replay import BlockToReplay
from entresol.fork.replay.remote_transactions import (
    RemoteTransaction,
    is_sent_raw,
    read_transaction,
)
from entresol.primitives.anchor import header_of_block
from entresol.primitives.values import Data, Hash32, Quantity

MAX_TRANSACTIONS: Final = 50_000
"""A block has fewer; more would be a remote that lies."""

_HASH_DIGITS: Final = 66
_WITH_TRANSACTIONS: Final = True
_ARBITRUM: Final = ("sendRoot", "sendCount", "l1BlockNumber")
"""Members that only blocks of Arbitrum have."""
_ERA: Final = ("l1BatchNumber",)


class RemoteReads(Protocol):
    """A remote chain, as far as a replay asks it."""

    @property
    def host(self) -> str:
        """Scheme, host and port of the remote."""

    async def read(
        self,
        method: str,
        params: Sequence[object],
        *,
        is_final: Callable[[msgspec.Raw], bool] | None = None,
    ) -> msgspec.Raw:
        """Return the result of a method; one that `is_final` may come from the cache, and goes there."""


async def find_transaction(remote: RemoteReads, wanted: Hash32) -> tuple[Hash32, int]:
    """Return the block of a transaction, and its index there."""
    method = "eth_getTransactionByHash"
    found = await _read(remote, method, str(wanted))
    if not isinstance(found, dict) or found.get("blockHash") is None:
        problem = f"it has no transaction {wanted} in a block"
        raise RemoteMalformed(remote.host, method, problem)
    try:
        index = int(Quantity.parse(found.get("transactionIndex")))
        return Hash32.parse(found["blockHash"]), index
    except MalformedValue as error:
        raise RemoteMalformed(remote.host, method, str(error)) from error


async def read_block(remote: RemoteReads, block: int | Hash32) -> BlockToReplay:
    """Return a block with everything that a replay compares."""
    method = "eth_getBlockByHash" if isinstance(block, Hash32) else "eth_getBlockByNumber"
    name = str(block) if isinstance(block, Hash32) else hex(block)
    fields = await _read(remote, method, name, _WITH_TRANSACTIONS)
    if not isinstance(fields, dict):
        raise RemoteMalformed(remote.host, method, f"it has no block {block}")
    try:
        header = header_of_block(fields)
        if fields.get("baseFeePerGas") is None:
            # Only blocks that are built on it would need one.
            header = msgspec.structs.replace(header, base_fee_per_gas=0)
        block_hash = Hash32.parse(fields.get("hash"))
        transactions = await _transactions(remote, fields)
    except MalformedValue as error:
        raise RemoteMalformed(remote.host, method, str(error)) from error
    receipts = await _receipts(remote, block_hash, transactions)
    return BlockToReplay(
        header, block_hash, transactions, receipts, _notes(fields), marks_of(fields)
    )


async def _transactions(
    remote: RemoteReads, fields: dict[str, Any]
) -> tuple[RemoteTransaction, ...]:
    found = fields.get("transactions")
    if not isinstance(found, list) or len(found) > MAX_TRANSACTIONS:
        raise MalformedValue(f"transactions: an array of up to {MAX_TRANSACTIONS} is expected")
    if not all(isinstance(it, dict) for it in found):
        raise MalformedValue("transactions: objects are expected")
    return tuple([await _transaction(remote, it) for it in found])


async def _transaction(remote: RemoteReads, fields: dict[str, Any]) -> RemoteTransaction:
    raw = None
    if is_sent_raw(fields):
        try:
            given = await _read(remote, "eth_getRawTransactionByHash", fields.get("hash"))
            raw = None if given is None else bytes(Data.parse(given)) or None
        except RemoteRejected:
            raw = None
    return read_transaction(fields, raw)


async def _receipts(
    remote: RemoteReads, block: Hash32, transactions: Sequence[RemoteTransaction]
) -> list[dict[str, Any]]:
    """Return all receipts of a block: by one request, or one each if the remote does not have that method."""
    method = "eth_getBlockReceipts"
    try:
        found = await _read(remote, method, str(block))
    except RemoteRejected:
        found = None
    if not isinstance(found, list):
        method = "eth_getTransactionReceipt"
        found = await asyncio.gather(
            *(_read(remote, method, str(transaction.hash)) for transaction in transactions)
        )
    hashes = [it.get("transactionHash") if isinstance(it, dict) else None for it in found]
    if hashes != [str(transaction.hash) for transaction in transactions]:
        raise RemoteMalformed(remote.host, method, f"other receipts than those of block {block}")
    return found


async def _read(remote: RemoteReads, method: str, *params: object) -> Any:
    # What a block or a transaction in one has by its hash never changes.
    is_final = _is_there if isinstance(params[0], str) and len(params[0]) == _HASH_DIGITS else None
    raw = await remote.read(method, params, is_final=is_final)
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RemoteMalformed(remote.host, method, "the result cannot be read") from error


def _is_there(result: msgspec.Raw) -> bool:
    return bytes(result) not in {b"null", b"[]"}


def _notes(fields: dict[str, Any]) -> list[str]:
    """Return what of the block's chain is not executed here."""
    if all(it in fields for it in _ARBITRUM):
        return [
            "a chain of Arbitrum: its gas for L1 and its precompiles from 0x…64 on (ArbSys) are not executed here"
        ]
    if any(it in fields for it in _ERA):
        return [
            "blocks as the ZK Stack has them: EraVM code, if there is any, is not executed here, and gas is the EVM's"
        ]
    return []
