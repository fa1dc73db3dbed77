"""Decode the results of JSON-RPC methods into the values of `LayerOne`."""

from __future__ import annotations

from typing import Any

from entresol.l1.layer_one import L1Block, L1Log, L1Receipt
from entresol.primitives.values import Address, Data, Hash32, Quantity


def decode_number(result: object) -> int:
    """Return a quantity."""
    return int(Quantity.parse(result))


def decode_block(result: dict[str, Any] | None) -> L1Block | None:
    """Return a block, or None if L1 does not have it."""
    if result is None:
        return None
    return L1Block(
        number=decode_number(result["number"]),
        hash=Hash32.parse(result["hash"]),
        parent_hash=Hash32.parse(result["parentHash"]),
        timestamp=decode_number(result["timestamp"]),
        base_fee=decode_number(result.get("baseFeePerGas", "0x0")),
    )


def decode_receipt(result: dict[str, Any] | None) -> L1Receipt | None:
    """Return a receipt, or None while the transaction is pending or unknown."""
    if result is None or result.get("blockNumber") is None:
        return None
    return L1Receipt(
        transaction_hash=Hash32.parse(result["transactionHash"]),
        block_number=decode_number(result["blockNumber"]),
        block_hash=Hash32.parse(result["blockHash"]),
        succeeded=decode_number(result["status"]) == 1,
        gas_used=decode_number(result["gasUsed"]),
    )


def decode_logs(result: list[dict[str, Any]]) -> list[L1Log]:
    """Return logs, in their order."""
    return [_decode_log(item) for item in result]


def _decode_log(item: dict[str, Any]) -> L1Log:
    return L1Log(
        address=Address.parse(item["address"]),
        topics=tuple(Hash32.parse(topic) for topic in item["topics"]),
        data=bytes(Data.parse(item["data"])),
        block_number=decode_number(item["blockNumber"]),
        block_hash=Hash32.parse(item["blockHash"]),
        transaction_hash=Hash32.parse(item["transactionHash"]),
        index=decode_number(item["logIndex"]),
    )
