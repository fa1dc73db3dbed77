"""Decode the results of JSON-RPC methods into the values of `LayerOne`.

What L1 responds is checked here, and nowhere later: the type of each value, that a number is one that an L1 can have,
and that a block, a receipt or a log is the one that was requested. Members that are not needed are ignored. Whatever is
wrong raises `MalformedValue`, which `JsonRpcClient.fetch` turns into `LayerOneMalformed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar

from entresol.errors import MalformedValue
from entresol.l1.layer_one import L1Block, L1Log, L1Receipt
from entresol.primitives.values import Address, Data, Hash32, Quantity

T = TypeVar("T")

MAX_BLOCK: Final = 2**40 - 1
"""No L1 has so many blocks: with a block a millisecond they take 34 years."""
MAX_TIMESTAMP: Final = 2**63 - 1
"""Developers move the clock of an L1 as far as they like."""
MAX_CHAIN_ID: Final = 2**64 - 1
MAX_NONCE: Final = 2**64 - 2
"""EIP-2681."""
MAX_GAS: Final = 2**63 - 1
MAX_FEE: Final = 2**64 - 1
"""Eighteen ether for a unit of gas."""
MAX_BALANCE: Final = 2**256 - 1
MAX_LOG_INDEX: Final = 2**32 - 1
MAX_TOPICS: Final = 4


def quantity(maximum: int) -> Callable[[object], int]:
    """Return a decoder of quantities up to a maximum."""

    def decode(result: object) -> int:
        number = int(Quantity.parse(result))
        if number > maximum:
            raise MalformedValue(f"{number:#x} is more than {maximum:#x}")
        return number

    return decode


decode_block_number: Final = quantity(MAX_BLOCK)
decode_chain_id: Final = quantity(MAX_CHAIN_ID)
decode_nonce: Final = quantity(MAX_NONCE)
decode_gas: Final = quantity(MAX_GAS)
decode_fee: Final = quantity(MAX_FEE)
decode_balance: Final = quantity(MAX_BALANCE)
_decode_timestamp: Final = quantity(MAX_TIMESTAMP)
_decode_log_index: Final = quantity(MAX_LOG_INDEX)
_decode_status: Final = quantity(1)


def block_decoder(number: int | None = None) -> Callable[[object], L1Block | None]:
    """Return a decoder of the block with a number, or of any; the result is None if L1 does not have it."""

    def decode(result: object) -> L1Block | None:
        if result is None:
            return None
        fields = _object(result)
        block = L1Block(
            number=_member(fields, "number", decode_block_number),
            hash=_member(fields, "hash", Hash32.parse),
            parent_hash=_member(fields, "parentHash", Hash32.parse),
            timestamp=_member(fields, "timestamp", _decode_timestamp),
            base_fee=_member(fields, "baseFeePerGas", decode_fee, 0),
        )
        if number is not None and block.number != number:
            raise MalformedValue(f"it is block {block.number}, and not {number}")
        return block

    return decode


def receipt_decoder(transaction: Hash32) -> Callable[[object], L1Receipt | None]:
    """Return a decoder of the receipt of a transaction; the result is None while it is pending or unknown."""

    def decode(result: object) -> L1Receipt | None:
        fields = {} if result is None else _object(result)
        if fields.get("blockNumber") is None and (result is None or "blockNumber" in fields):
            return None
        receipt = L1Receipt(
            transaction_hash=_member(fields, "transactionHash", Hash32.parse),
            block_number=_member(fields, "blockNumber", decode_block_number),
            block_hash=_member(fields, "blockHash", Hash32.parse),
            succeeded=_member(fields, "status", _decode_status) == 1,
            gas_used=_member(fields, "gasUsed", decode_gas),
        )
        if receipt.transaction_hash != transaction:
            raise MalformedValue(f"it is the receipt of {receipt.transaction_hash}")
        return receipt

    return decode


def logs_decoder(
    address: Address, topics: Sequence[Hash32], first: int, last: int
) -> Callable[[object], list[L1Log]]:
    """Return a decoder of the logs of a contract in a range of blocks, in their order."""

    def decode(result: object) -> list[L1Log]:
        if not isinstance(result, list):
            raise MalformedValue("logs are an array")
        found = [_log(item) for item in result]
        for log in found:
            if log.address != address or log.topics[: len(topics)] != tuple(topics):
                raise MalformedValue("a log is of another contract or event")
            if not first <= log.block_number <= last:
                raise MalformedValue(f"a log is in block {log.block_number}")
        positions = [(log.block_number, log.index) for log in found]
        if any(left >= right for left, right in pairwise(positions)):
            raise MalformedValue("the logs are not in order")
        return found

    return decode


def _log(item: object) -> L1Log:
    fields = _object(item)
    if fields.get("removed") is True:
        raise MalformedValue("a log was removed by a reorg")
    return L1Log(
        address=_member(fields, "address", Address.parse),
        topics=_member(fields, "topics", _topics),
        data=bytes(_member(fields, "data", Data.parse)),
        block_number=_member(fields, "blockNumber", decode_block_number),
        block_hash=_member(fields, "blockHash", Hash32.parse),
        transaction_hash=_member(fields, "transactionHash", Hash32.parse),
        index=_member(fields, "logIndex", _decode_log_index),
    )


def _topics(value: object) -> tuple[Hash32, ...]:
    if not isinstance(value, list) or len(value) > MAX_TOPICS:
        raise MalformedValue(f"topics are an array of up to {MAX_TOPICS}")
    return tuple(map(Hash32.parse, value))


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedValue("an object is expected")
    return value


def _member(
    fields: dict[str, Any], name: str, decode: Callable[[object], T], default: T | None = None
) -> T:
    if name not in fields:
        if default is not None:
            return default
        raise MalformedValue(f"{name} is missing")
    try:
        return decode(fields[name])
    except MalformedValue as error:
        raise MalformedValue(f"{name}: {error}") from error
