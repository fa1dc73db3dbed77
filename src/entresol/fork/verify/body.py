"""The body of a block against its header: transactions, withdrawals and uncles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from entresol._native import keccak256, ordered_root, rlp_decode, rlp_encode
from entresol.errors import MalformedValue
from entresol.fork import results
from entresol.fork.verify.headers import HashedHeader
from entresol.fork.verify.members import Told
from entresol.fork.verify.transactions import (
    ProvenTransaction,
    encoded_payload,
    proven_transaction,
)
from entresol.primitives import rlp
from entresol.primitives.headers import EMPTY_OMMERS
from entresol.primitives.values import Address, Hash32

MAX_TRANSACTIONS: Final = 50_000
"""A block has fewer; more would be a remote that lies."""
MAX_UNCLES: Final = 2
_FIRST_LIST: Final = 0xC0


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
    given = told.read(lambda: results.member(fields, "hash", Hash32.parse))
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
    fields = told.read(lambda: [results.mapping(it) for it in given])
    encoded = [encoded_payload(told, field) for field in fields]
    if ordered_root([raw for _, raw in encoded]) != header.data("transactionsRoot"):
        raise told.lied(f"the transactions do not have the root of block {header.hash}")
    return [
        proven_transaction(told, header, index, *it)
        for index, it in enumerate(zip(encoded, fields, strict=True))
    ]


def _withdrawals(told: Told, header: HashedHeader, given: object) -> list[dict[str, Any]] | None:
    if "withdrawalsRoot" not in header.values:
        return None
    found = told.read(lambda: [_withdrawal(it) for it in _array(given)])
    if ordered_root([rlp_encode(_withdrawal_items(it)) for it in found]) != header.data(
        "withdrawalsRoot"
    ):
        raise told.lied(f"the withdrawals do not have the root of block {header.hash}")
    return found


def _array(value: object) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedValue("withdrawals are an array")
    return value


def _withdrawal(value: object) -> dict[str, Any]:
    fields = results.mapping(value)
    return {
        "index": hex(results.member(fields, "index", results.nonce)),
        "validatorIndex": hex(results.member(fields, "validatorIndex", results.nonce)),
        "address": str(results.member(fields, "address", Address.parse)),
        "amount": hex(results.member(fields, "amount", results.nonce)),
    }


def _withdrawal_items(fields: dict[str, Any]) -> list[bytes]:
    return [
        rlp.encode_uint(int(fields["index"], 16)),
        rlp.encode_uint(int(fields["validatorIndex"], 16)),
        bytes(Address.parse(fields["address"])),
        rlp.encode_uint(int(fields["amount"], 16)),
    ]
