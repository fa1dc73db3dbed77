"""Transactions of a remote chain, read from the JSON that its node responds with."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from entresol.chain.transaction_json import KINDS, read_payload
from entresol.errors import InvalidGenesis, InvalidTransaction, MalformedValue
from entresol.features.fork.remote_values import member
from entresol.primitives.transactions import (
    EthereumTransaction,
    Transaction,
    decode,
    impersonate,
    load,
)
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address, Hash32, Quantity

NOT_EXECUTED: Final = {
    0x64: "a deposit of Arbitrum",
    0x65: "an unsigned transaction of Arbitrum",
    0x66: "a contract's transaction of Arbitrum",
    0x68: "a retry of Arbitrum",
    0x69: "a retryable of Arbitrum",
    0x6A: "an internal transaction of Arbitrum",
    0x7B: "a change of Celo's fee currency",
    0x7C: "a service transaction of ZKsync OS",
    0x7D: "a system transaction of ZKsync OS",
    0x7E: "a deposit of the OP Stack, or an upgrade of ZKsync OS",
    0x7F: "a priority transaction of ZKsync OS",
    0xFE: "an upgrade of Era",
    0xFF: "a priority transaction of Era",
}
"""Types that only the remote's own rules can execute, and what they are."""


class RemoteTransaction(NamedTuple):
    """A transaction of a remote block; `transaction` is None if it cannot be executed here, and `note` says why."""

    hash: Hash32
    type: int
    transaction: Transaction | None
    note: str = ""


def is_sent_raw(fields: dict[str, Any]) -> bool:
    """Return whether the JSON lacks what the transaction had, so that its raw bytes are needed."""
    return type_of(fields) == ZK_TYPE


def type_of(fields: dict[str, Any]) -> int:
    """Return the type of a transaction; raise `MalformedValue` if it is none."""
    return 0 if fields.get("type") is None else int(member(fields, "type", Quantity.parse))


def payload_of(fields: dict[str, Any]) -> EthereumTransaction | None:
    """Return what a transaction of Ethereum is encoded from; None for other types."""
    if type_of(fields) not in KINDS:
        return None
    try:
        return read_payload(fields)
    except InvalidGenesis as error:
        raise MalformedValue(error.problem, field=error.field) from None


def read_transaction(fields: dict[str, Any], raw: bytes | None = None) -> RemoteTransaction:
    """Read a transaction, by its raw bytes if they are given; raise `MalformedValue` for what no node responds with."""
    kind, expected = type_of(fields), member(fields, "hash", Hash32.parse)
    if kind in NOT_EXECUTED:
        return RemoteTransaction(expected, kind, None, f"type {kind:#x}, {NOT_EXECUTED[kind]}")
    if kind == ZK_TYPE and raw is None:
        note = "type 0x71, whose raw bytes the remote does not have"
        return RemoteTransaction(expected, kind, None, note)
    payload = payload_of(fields)
    if payload is None and kind != ZK_TYPE:
        return RemoteTransaction(expected, kind, None, f"type {kind:#x}, which is unknown here")
    sender = member(fields, "from", Address.parse)
    try:
        if raw is not None or payload is None:
            return RemoteTransaction(expected, kind, decode(raw or b""))
        return RemoteTransaction(expected, kind, _signed(payload, sender, expected))
    except InvalidTransaction as error:
        note = f"type {kind:#x}, but it is invalid: {error}"
        return RemoteTransaction(expected, kind, None, note)


def _signed(payload: EthereumTransaction, sender: Address, expected: Hash32) -> Transaction:
    """Return a transaction of its sender; one that no key has signed is impersonated, as the remote has accepted it."""
    try:
        transaction = load(payload.encode(), sender)
        if transaction.hash == expected and payload.r and payload.s:
            return transaction
    except InvalidTransaction:
        pass
    return msgspec.structs.replace(impersonate(payload, sender), hash=expected)
