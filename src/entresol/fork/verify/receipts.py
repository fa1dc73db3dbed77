"""Receipts of a proven block: what the root of the block covers, and what follows from it and the transactions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

from entresol._native import ordered_root, rlp_encode
from entresol.errors import MalformedValue
from entresol.fork import results
from entresol.fork.verify.headers import HashedHeader
from entresol.fork.verify.members import Told, hex_of
from entresol.fork.verify.transactions import ProvenTransaction
from entresol.l1.remote.results import quantity
from entresol.primitives import rlp
from entresol.primitives.transactions import BlobTransaction
from entresol.primitives.values import Address, Bloom, Data, Hash32


class ProvenReceipt(NamedTuple):
    """A receipt that is in the trie of its block."""

    raw: bytes
    gas_used: int
    json: dict[str, Any]

    @property
    def logs(self) -> list[dict[str, Any]]:
        """Its logs, as JSON."""
        found: list[dict[str, Any]] = self.json["logs"]
        return found


def proven_receipts(
    told: Told,
    header: HashedHeader,
    transactions: Sequence[ProvenTransaction],
    given: object,
) -> list[ProvenReceipt]:
    """Return the receipts of a block; raise `RemoteLied` if they do not have its root, or say anything else."""
    fields = told.read(lambda: _objects(given, "receipts"))
    raws = told.read(lambda: [_encoded(field) for field in fields])
    if ordered_root(raws) != header.data("receiptsRoot"):
        raise told.lied(f"the receipts do not have the root of block {header.hash}")
    if len(fields) != len(transactions):
        raise told.lied(f"block {header.hash} has another number of receipts than transactions")
    found, before, log_index = [], 0, count()
    for transaction, raw, receipt in zip(transactions, raws, fields, strict=True):
        total = results.member(receipt, "cumulativeGasUsed", results.nonce)
        gas_used, before = total - before, total
        place = _place(header, transaction)
        logs = [_agreed_log(told, place, header, next(log_index), it) for it in receipt["logs"]]
        true = {
            **place,
            **_outcome(receipt),
            "type": hex(transaction.payload.type),
            "from": str(transaction.sender),
            "to": None if transaction.payload.to is None else str(transaction.payload.to),
            "contractAddress": None if transaction.created is None else str(transaction.created),
            "cumulativeGasUsed": hex(total),
            "gasUsed": hex(gas_used),
            "effectiveGasPrice": hex(transaction.gas_price),
            "logsBloom": hex_of(results.member(receipt, "logsBloom", Bloom.parse)),
            "logs": logs,
        }
        if isinstance(transaction.payload, BlobTransaction):
            true["blobGasUsed"] = hex(transaction.payload.blob_gas)
        what = f"the receipt of {transaction.hash}"
        found.append(ProvenReceipt(raw, gas_used, told.agreed(what, _told_of(receipt), true)))
    return found


def _place(header: HashedHeader, transaction: ProvenTransaction) -> dict[str, Any]:
    return {
        "transactionHash": str(transaction.hash),
        "transactionIndex": hex(transaction.index),
        "blockHash": str(header.hash),
        "blockNumber": hex(header.number),
    }


def _told_of(receipt: dict[str, Any]) -> dict[str, Any]:
    """Return what a remote says in a receipt; some name no contract if its creation failed, which is no lie."""
    if receipt.get("contractAddress") is not None or receipt.get("status") != "0x0":
        return receipt
    return {name: it for name, it in receipt.items() if name != "contractAddress"}


def _agreed_log(
    told: Told,
    place: dict[str, Any],
    header: HashedHeader,
    index: int,
    log: dict[str, Any],
) -> dict[str, Any]:
    address, topics, data = _log(log)
    true = {
        "address": hex_of(address),
        "topics": [hex_of(topic) for topic in topics],
        "data": hex_of(data),
        **place,
        "blockTimestamp": hex(header.quantity("timestamp")),
        "logIndex": hex(index),
        "removed": False,
    }
    return told.agreed(f"log {index} of block {header.hash}", log, true)


def _outcome(receipt: dict[str, Any]) -> dict[str, Any]:
    if receipt.get("status") is not None:
        return {"status": hex(results.member(receipt, "status", quantity(1)))}
    return {"root": str(results.member(receipt, "root", Hash32.parse))}


def _objects(value: object, what: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise MalformedValue(f"{what} are an array")
    return [results.mapping(it) for it in value]


def _encoded(receipt: dict[str, Any]) -> bytes:
    """Return a receipt as its trie has it."""
    logs = _objects(receipt.get("logs"), "logs")
    if receipt.get("status") is not None:
        outcome: bytes = rlp.encode_uint(results.member(receipt, "status", quantity(1)))
    else:
        outcome = results.member(receipt, "root", Hash32.parse)
    item: list[Any] = [
        outcome,
        rlp.encode_uint(results.member(receipt, "cumulativeGasUsed", results.nonce)),
        results.member(receipt, "logsBloom", Bloom.parse),
        [list(_log(log)) for log in logs],
    ]
    kind = results.member(receipt, "type", quantity(0x7F)) if "type" in receipt else 0
    return (bytes([kind]) if kind else b"") + rlp_encode(item)


def _log(log: dict[str, Any]) -> tuple[Address, list[Hash32], bytes]:
    topics = log.get("topics")
    if not isinstance(topics, list):
        raise MalformedValue("topics are an array")
    return (
        results.member(log, "address", Address.parse),
        [Hash32.parse(topic) for topic in topics],
        bytes(results.member(log, "data", Data.parse)),
    )
