"""Transactions of a remote chain, read from the JSON that its node responds with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from entresol.errors import InvalidTransaction, MalformedValue
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    BlobTransaction,
    EthereumTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    Transaction,
    decode,
    impersonate,
    load,
)
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address, Data, Hash32, Quantity

T = TypeVar("T")

_FIRST_EIP_155: Final = 35
_WITHOUT_CHAIN_ID: Final = (27, 28)

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
    return _type(fields) == ZK_TYPE


def type_of(fields: dict[str, Any]) -> int:
    """Return the type of a transaction; raise `MalformedValue` if it is none."""
    return _type(fields)


def payload_of(fields: dict[str, Any]) -> EthereumTransaction | None:
    """Return what a transaction of Ethereum is encoded from; None for other types."""
    make = _PAYLOADS.get(_type(fields))
    return None if make is None else make(fields)


def read_transaction(fields: dict[str, Any], raw: bytes | None = None) -> RemoteTransaction:
    """Read a transaction, by its raw bytes if they are given; raise `MalformedValue` for what no node responds with."""
    kind, expected = _type(fields), _member(fields, "hash", Hash32.parse)
    if kind in NOT_EXECUTED:
        return RemoteTransaction(expected, kind, None, f"type {kind:#x}, {NOT_EXECUTED[kind]}")
    if kind == ZK_TYPE and raw is None:
        return RemoteTransaction(
            expected, kind, None, "type 0x71, whose raw bytes the remote does not have"
        )
    if kind not in _PAYLOADS and kind != ZK_TYPE:
        return RemoteTransaction(expected, kind, None, f"type {kind:#x}, which is unknown here")
    sender = _member(fields, "from", Address.parse)
    try:
        if raw is not None:
            return RemoteTransaction(expected, kind, decode(raw))
        return RemoteTransaction(expected, kind, _signed(_PAYLOADS[kind](fields), sender, expected))
    except InvalidTransaction as error:
        return RemoteTransaction(
            expected, kind, None, f"type {kind:#x}, but it is invalid: {error}"
        )


def _signed(payload: EthereumTransaction, sender: Address, expected: Hash32) -> Transaction:
    """Return a transaction of its sender; one that no key has signed is impersonated, as the remote has accepted it."""
    try:
        transaction = load(payload.encode(), sender)
        if transaction.hash == expected and payload.r and payload.s:
            return transaction
    except InvalidTransaction:
        pass
    return msgspec.structs.replace(impersonate(payload, sender), hash=expected)


def _legacy(fields: dict[str, Any]) -> LegacyTransaction:
    v = _optional(fields, "v", _number)
    chain_id = _optional(fields, "chainId", _number)
    if v in _WITHOUT_CHAIN_ID:
        chain_id = None
    elif v is not None and v >= _FIRST_EIP_155:
        chain_id = (v - _FIRST_EIP_155) // 2
    return LegacyTransaction(
        chain_id=chain_id, gas_price=_member(fields, "gasPrice", _number), **_common(fields)
    )


def _access_list(fields: dict[str, Any]) -> AccessListTransaction:
    return AccessListTransaction(
        gas_price=_member(fields, "gasPrice", _number), **_common(fields), **_typed(fields)
    )


def _fee_market(fields: dict[str, Any]) -> FeeMarketTransaction:
    return FeeMarketTransaction(**_common(fields), **_typed(fields), **_fees(fields))


def _blob(fields: dict[str, Any]) -> BlobTransaction:
    hashes = _list(fields, "blobVersionedHashes", Hash32.parse)
    cap = _member(fields, "maxFeePerBlobGas", _number)
    return BlobTransaction(
        max_fee_per_blob_gas=cap,
        blob_hashes=hashes,
        **_common(fields),
        **_typed(fields),
        **_fees(fields),
    )


def _set_code(fields: dict[str, Any]) -> SetCodeTransaction:
    authorizations = _list(fields, "authorizationList", _authorization)
    return SetCodeTransaction(
        authorizations=authorizations, **_common(fields), **_typed(fields), **_fees(fields)
    )


_PAYLOADS: Final[dict[int, Callable[[dict[str, Any]], EthereumTransaction]]] = {
    0: _legacy,
    1: _access_list,
    2: _fee_market,
    3: _blob,
    4: _set_code,
}


def _common(fields: dict[str, Any]) -> dict[str, Any]:
    v = _optional(fields, "v", _number) or 0
    parity = _optional(fields, "yParity", _number)
    return {
        "nonce": _member(fields, "nonce", _number),
        "gas_limit": _member(fields, "gas", _number),
        "to": _optional(fields, "to", Address.parse),
        "value": _member(fields, "value", _number),
        "data": bytes(_member(fields, "input" if "input" in fields else "data", Data.parse)),
        "y_parity": (v + 1 if v in _WITHOUT_CHAIN_ID or v >= _FIRST_EIP_155 else v) % 2
        if parity is None
        else parity,
        "r": _optional(fields, "r", _number) or 0,
        "s": _optional(fields, "s", _number) or 0,
    }


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "chain_id": _member(fields, "chainId", _number),
        "access_list": _list(fields, "accessList", _access),
    }


def _fees(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "max_fee_per_gas": _member(fields, "maxFeePerGas", _number),
        "max_priority_fee_per_gas": _member(fields, "maxPriorityFeePerGas", _number),
    }


def _access(value: Any) -> Access:
    fields = _mapping(value)
    return Access(
        _member(fields, "address", Address.parse), _list(fields, "storageKeys", Hash32.parse)
    )


def _authorization(value: Any) -> Authorization:
    fields = _mapping(value)
    parity = "yParity" if "yParity" in fields else "v"
    numbers = [_member(fields, name, _number) for name in ("chainId", "nonce", parity, "r", "s")]
    address = _member(fields, "address", Address.parse)
    return Authorization(numbers[0], address, *numbers[1:])


def _type(fields: dict[str, Any]) -> int:
    return _optional(fields, "type", _number) or 0


def _number(value: object) -> int:
    return int(Quantity.parse(value))


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedValue("an object is expected")
    return value


def _member(fields: dict[str, Any], name: str, parse: Callable[[object], T]) -> T:
    try:
        return parse(fields.get(name))
    except MalformedValue as error:
        raise MalformedValue(f"{name}: {error}") from error


def _optional(fields: dict[str, Any], name: str, parse: Callable[[object], T]) -> T | None:
    return None if fields.get(name) is None else _member(fields, name, parse)


def _list(fields: dict[str, Any], name: str, parse: Callable[[object], T]) -> tuple[T, ...]:
    found = fields.get(name) or []
    if not isinstance(found, list):
        raise MalformedValue(f"{name}: an array is expected")
    return tuple(parse(item) for item in found)
