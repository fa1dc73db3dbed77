"""Transactions of a remote, from its JSON to the bytes that blocks have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from entresol._native import keccak256, rlp_encode
from entresol.errors import MalformedValue
from entresol.primitives.rlp import encode_uint
from entresol.primitives.values import Address, Data, Hash32

if TYPE_CHECKING:
    from entresol._native import RlpItem

_LEGACY: Final = 0
_ACCESS_LIST: Final = 1
_FEE_MARKET: Final = 2
_BLOB: Final = 3
_SET_CODE: Final = 4

KNOWN_TYPES: Final = range(_LEGACY, _SET_CODE + 1)
"""The types of Ethereum; those of other chains mean something else on each."""


class NotExecutable(Exception):  # noqa: N818  # it becomes a request to the remote
    """A transaction that cannot be executed here; the text says why."""


def stored_transaction(item: dict[str, Any]) -> tuple[bytes, Address]:
    """Return the bytes and the sender of a transaction; raise `NotExecutable` if it is none of Ethereum."""
    name = str(item.get("hash"))
    kind = _type(item, name)
    try:
        raw = _raw(item, kind)
        sender = Address.parse(item.get("from"))
        expected = Hash32.parse(item.get("hash"))
    except (MalformedValue, ValueError, TypeError, KeyError, OverflowError) as error:
        raise NotExecutable(f"transaction {name} lacks a field: {error}") from None
    if keccak256(raw) != expected:
        raise NotExecutable(f"transaction {name} has fields that are not Ethereum's")
    return raw, sender


def _type(item: dict[str, Any], name: str) -> int:
    try:
        kind = int(str(item.get("type") or "0x0"), 16)
    except ValueError:
        kind = -1
    if kind not in KNOWN_TYPES:
        raise NotExecutable(f"transaction {name} is of type {item.get('type')}")
    return kind


def _raw(item: dict[str, Any], kind: int) -> bytes:
    tail = [_data(item.get("to")), _number(item["value"]), _data(item.get("input"))]
    signature = [_number(item["r"]), _number(item["s"])]
    if kind == _LEGACY:
        head = [_number(item["nonce"]), _number(item["gasPrice"]), _number(item["gas"])]
        return rlp_encode([*head, *tail, _number(item["v"]), *signature])
    fields: list[RlpItem] = [_number(item["chainId"]), _number(item["nonce"])]
    if kind == _ACCESS_LIST:
        fields.append(_number(item["gasPrice"]))
    else:
        fields += [_number(item["maxPriorityFeePerGas"]), _number(item["maxFeePerGas"])]
    fields += [_number(item["gas"]), *tail, _access_list(item.get("accessList") or [])]
    if kind == _BLOB:
        fields.append(_number(item["maxFeePerBlobGas"]))
        fields.append([_data(it) for it in item["blobVersionedHashes"]])
    if kind == _SET_CODE:
        fields.append([_authorization(it) for it in item["authorizationList"]])
    parity = item.get("yParity")
    fields += [_number(item["v"] if parity is None else parity), *signature]
    return bytes([kind]) + rlp_encode(fields)


def _access_list(items: list[dict[str, Any]]) -> list[RlpItem]:
    return [[_data(it["address"]), [_data(key) for key in it["storageKeys"]]] for it in items]


def _authorization(item: dict[str, Any]) -> list[RlpItem]:
    parity = item.get("yParity")
    return [
        _number(item["chainId"]),
        _data(item["address"]),
        _number(item["nonce"]),
        _number(item["v"] if parity is None else parity),
        _number(item["r"]),
        _number(item["s"]),
    ]


def _number(value: Any) -> bytes:
    return encode_uint(value if isinstance(value, int) else int(value, 16))


def _data(value: Any) -> bytes:
    return b"" if value is None else bytes(Data.parse(value))
