"""The contents of a proven block: transactions, withdrawals, uncles and receipts, by the roots in its header."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec

from entresol._native import keccak256, ordered_root, recover, rlp_decode, rlp_encode
from entresol.chain.transaction_json import payload_fields
from entresol.errors import EntresolError, MalformedValue
from entresol.features.fork import remote_values
from entresol.features.fork.errors import Unprovable
from entresol.features.fork.replay.remote_transactions import NOT_EXECUTED, payload_of, type_of
from entresol.features.fork.verify.proven_header import HashedHeader, Told, hex_of
from entresol.l1.remote_layer_one import quantity
from entresol.primitives import rlp
from entresol.primitives.headers import EMPTY_OMMERS
from entresol.primitives.transactions import (
    BlobTransaction,
    EthereumTransaction,
)
from entresol.primitives.values import Address, Bloom, Data, Hash32

MAX_TRANSACTIONS: Final = 50_000
"""A block has fewer; more would be a remote that lies."""
MAX_UNCLES: Final = 2
_FIRST_LIST: Final = 0xC0


class ProvenTransaction(msgspec.Struct, frozen=True):
    """A transaction that is in the trie of its block."""

    payload: EthereumTransaction
    raw: bytes
    hash: Hash32
    sender: Address
    index: int
    gas_price: int
    """The price it pays for a unit of gas in its block."""
    tip: int
    """The part of it that the producer of the block gets."""
    json: dict[str, Any]

    @property
    def created(self) -> Address | None:
        """The address of the contract that it creates, if it does not call one."""
        if self.payload.to is not None:
            return None
        return Address(
            keccak256(rlp_encode([self.sender, rlp.encode_uint(self.payload.nonce)]))[12:]
        )


def encoded_payload(told: Told, fields: dict[str, Any]) -> tuple[EthereumTransaction, bytes]:
    """Return what a transaction is encoded from, and its bytes in the trie; raise for types that are not Ethereum's."""
    kind = told.read(lambda: type_of(fields))
    payload = told.read(lambda: payload_of(fields))
    if payload is None:
        name = NOT_EXECUTED.get(kind, "which is unknown here")
        raise Unprovable(told.method, f"the block has a transaction of type {kind:#x}, {name}")
    try:
        return payload, payload.encode()
    except (EntresolError, OverflowError, ValueError) as error:
        raise told.lied(f"a transaction cannot be encoded: {error}") from error


def proven_transaction(
    told: Told,
    header: HashedHeader,
    index: int,
    encoded: tuple[EthereumTransaction, bytes],
    given: dict[str, Any],
) -> ProvenTransaction:
    """Return a transaction whose bytes are in the trie; what the remote says of it has to be what they say."""
    payload, raw = encoded
    sender = _sender(told, header, index, payload)
    base_fee = header.quantity("baseFeePerGas")
    tip = min(payload.tip, payload.fee_cap - base_fee)
    found_hash = Hash32(keccak256(raw))
    true = {
        "hash": str(found_hash),
        "blockHash": str(header.hash),
        "blockNumber": hex(header.number),
        "transactionIndex": hex(index),
        "blockTimestamp": hex(header.quantity("timestamp")),
        "from": str(sender),
        "gasPrice": hex(base_fee + tip),
        **payload_fields(payload),
    }
    json = told.agreed(f"transaction {found_hash}", given, true)
    return ProvenTransaction(payload, raw, found_hash, sender, index, base_fee + tip, tip, json)


def _sender(told: Told, header: HashedHeader, index: int, payload: EthereumTransaction) -> Address:
    signature = payload.r.to_bytes(32, "big") + payload.s.to_bytes(32, "big")
    try:
        return Address(recover(payload.signing_hash(), signature + bytes([payload.y_parity])))
    except (EntresolError, ValueError, OverflowError):
        raise Unprovable(
            told.method,
            f"transaction {index} of block {header.number} has no signature that shows who sent it",
        ) from None


class ProvenBlock(msgspec.Struct, frozen=True):
    """A block whose header has its hash, and whose body is that of its header."""

    header: HashedHeader
    transactions: list[ProvenTransaction]
    withdrawals: list[dict[str, Any]] | None
    uncles: list[HashedHeader]

    @property
    def number(self) -> int:
        """Its number."""
        return self.header.number

    @property
    def hash(self) -> Hash32:
        """Its hash."""
        return self.header.hash

    @property
    def weight(self) -> int:
        """About how many bytes it takes in memory."""
        return 4_096 + sum(4_096 + 8 * len(transaction.raw) for transaction in self.transactions)

    def json(self, *, with_transactions: bool) -> dict[str, Any]:
        """Return the block as a node responds with it."""
        members: dict[str, Any] = {
            **self.header.json(),
            "size": hex(len(self.encoded())),
            "transactions": [
                transaction.json if with_transactions else str(transaction.hash)
                for transaction in self.transactions
            ],
            "uncles": [str(uncle.hash) for uncle in self.uncles],
        }
        if self.withdrawals is not None:
            members["withdrawals"] = self.withdrawals
        return members

    def encoded(self) -> bytes:
        """Return the block as nodes send it to each other."""
        items: list[Any] = [
            rlp_decode(self.header.encoded),
            [
                rlp_decode(transaction.raw)
                if transaction.raw[0] >= _FIRST_LIST
                else transaction.raw
                for transaction in self.transactions
            ],
            [rlp_decode(uncle.encoded) for uncle in self.uncles],
        ]
        if self.withdrawals is not None:
            items.append([_withdrawal_items(withdrawal) for withdrawal in self.withdrawals])
        return rlp_encode(items)


def hashed_header(told: Told, fields: dict[str, Any]) -> HashedHeader:
    """Return the header of a block; it has to have the hash that the remote says."""
    header = told.read(lambda: HashedHeader.of(fields))
    given = told.read(lambda: remote_values.member(fields, "hash", Hash32.parse))
    if header.hash != given:
        raise told.lied(f"the header does not have the hash {given}")
    return header


def proven_block(
    told: Told, header: HashedHeader, fields: dict[str, Any], uncles: Sequence[HashedHeader]
) -> ProvenBlock:
    """Return a block, of which `uncles` were read before; raise `RemoteLied` if its body is not that of its header."""
    block = ProvenBlock(
        header,
        _transactions(told, header, fields.get("transactions")),
        _withdrawals(told, header, fields.get("withdrawals")),
        list(uncles),
    )
    if keccak256(rlp_encode([rlp_decode(uncle.encoded) for uncle in uncles])) != header.data(
        "sha3Uncles"
    ):
        raise told.lied(f"the uncles are not those of block {header.hash}")
    # Header and transactions were compared already; of its size, nodes have several notions.
    told.agreed(f"block {header.hash}", fields, {"uncles": [str(uncle.hash) for uncle in uncles]})
    return block


def uncle_count(told: Told, header: HashedHeader, fields: dict[str, Any]) -> int:
    """Return how many uncles a block has, as the remote says it; none if the header has the hash of none."""
    if header.data("sha3Uncles") == EMPTY_OMMERS:
        return 0
    found = fields.get("uncles")
    if not isinstance(found, list) or not 0 < len(found) <= MAX_UNCLES:
        raise told.lied(f"the uncles are not those of block {header.hash}")
    return len(found)


def _transactions(told: Told, header: HashedHeader, given: object) -> list[ProvenTransaction]:
    if not isinstance(given, list) or len(given) > MAX_TRANSACTIONS:
        raise told.lied(f"a block has an array of up to {MAX_TRANSACTIONS} transactions")
    fields = told.read(lambda: [remote_values.mapping(entry) for entry in given])
    encoded = [encoded_payload(told, field) for field in fields]
    if ordered_root([raw for _, raw in encoded]) != header.data("transactionsRoot"):
        raise told.lied(f"the transactions do not have the root of block {header.hash}")
    return [
        proven_transaction(told, header, index, *pair)
        for index, pair in enumerate(zip(encoded, fields, strict=True))
    ]


def _withdrawals(told: Told, header: HashedHeader, given: object) -> list[dict[str, Any]] | None:
    if "withdrawalsRoot" not in header.values:
        return None
    found = told.read(lambda: [_withdrawal(withdrawal) for withdrawal in _array(given)])
    if ordered_root(
        [rlp_encode(_withdrawal_items(withdrawal)) for withdrawal in found]
    ) != header.data("withdrawalsRoot"):
        raise told.lied(f"the withdrawals do not have the root of block {header.hash}")
    return found


def _array(value: object) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedValue("withdrawals are an array")
    return value


def _withdrawal(value: object) -> dict[str, Any]:
    fields = remote_values.mapping(value)
    return {
        "index": hex(remote_values.member(fields, "index", remote_values.nonce)),
        "validatorIndex": hex(remote_values.member(fields, "validatorIndex", remote_values.nonce)),
        "address": str(remote_values.member(fields, "address", Address.parse)),
        "amount": hex(remote_values.member(fields, "amount", remote_values.nonce)),
    }


def _withdrawal_items(fields: dict[str, Any]) -> list[bytes]:
    return [
        rlp.encode_uint(int(fields["index"], 16)),
        rlp.encode_uint(int(fields["validatorIndex"], 16)),
        bytes(Address.parse(fields["address"])),
        rlp.encode_uint(int(fields["amount"], 16)),
    ]


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
        total = remote_values.member(receipt, "cumulativeGasUsed", remote_values.nonce)
        gas_used, before = total - before, total
        place = _place(header, transaction)
        logs = [_agreed_log(told, place, header, next(log_index), log) for log in receipt["logs"]]
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
            "logsBloom": hex_of(remote_values.member(receipt, "logsBloom", Bloom.parse)),
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
    """Return what a remote says in a receipt; some name no contract if its creation failed, which is not a lie."""
    if receipt.get("contractAddress") is not None or receipt.get("status") != "0x0":
        return receipt
    return {name: value for name, value in receipt.items() if name != "contractAddress"}


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
        return {"status": hex(remote_values.member(receipt, "status", quantity(1)))}
    return {"root": str(remote_values.member(receipt, "root", Hash32.parse))}


def _objects(value: object, what: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise MalformedValue(f"{what} are an array")
    return [remote_values.mapping(item) for item in value]


def _encoded(receipt: dict[str, Any]) -> bytes:
    logs = _objects(receipt.get("logs"), "logs")
    if receipt.get("status") is not None:
        outcome: bytes = rlp.encode_uint(remote_values.member(receipt, "status", quantity(1)))
    else:
        outcome = remote_values.member(receipt, "root", Hash32.parse)
    item: list[Any] = [
        outcome,
        rlp.encode_uint(remote_values.member(receipt, "cumulativeGasUsed", remote_values.nonce)),
        remote_values.member(receipt, "logsBloom", Bloom.parse),
        [list(_log(log)) for log in logs],
    ]
    kind = remote_values.member(receipt, "type", quantity(0x7F)) if "type" in receipt else 0
    return (bytes([kind]) if kind else b"") + rlp_encode(item)


def _log(log: dict[str, Any]) -> tuple[Address, list[Hash32], bytes]:
    topics = log.get("topics")
    if not isinstance(topics, list):
        raise MalformedValue("topics are an array")
    return (
        remote_values.member(log, "address", Address.parse),
        [Hash32.parse(topic) for topic in topics],
        bytes(remote_values.member(log, "data", Data.parse)),
    )
