"""Transfers of tokens as contracts claim them in logs (ERC-20, ERC-721 and ERC-1155), known by their form alone."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

import msgspec

from entresol._native import keccak256
from entresol.primitives.values import Address

TRANSFER: Final = keccak256(b"Transfer(address,address,uint256)")
TRANSFER_SINGLE: Final = keccak256(b"TransferSingle(address,address,address,uint256,uint256)")
TRANSFER_BATCH: Final = keccak256(b"TransferBatch(address,address,address,uint256[],uint256[])")
TRANSFERS: Final = frozenset({TRANSFER, TRANSFER_SINGLE, TRANSFER_BATCH})

MAX_ITEMS: Final = 256
"""How many tokens of a batch are read; a longer one is cut."""

_WORD: Final = 32
_PADDING: Final = bytes(12)
_ITEM_TOPICS: Final = 4


class TokenStandard(IntEnum):
    """The interface that a token has, by the form of its logs."""

    ERC20 = 1
    ERC721 = 2
    ERC1155 = 3


class TokenTransfer(msgspec.Struct, frozen=True):
    """One log of a transfer: an amount of an ERC-20, or how many of which items of another token."""

    token: Address
    standard: TokenStandard
    sender: Address
    recipient: Address
    values: tuple[int, ...]
    ids: tuple[int, ...] = ()


def recipient_of(topics: Sequence[bytes], size: int) -> tuple[TokenStandard, bytes, bytes] | None:
    """Return the standard, sender and recipient of a log of a transfer, reading no more than has to be: blocks are indexed by it."""
    if not topics or topics[0] not in TRANSFERS:
        return None
    count = len(topics)
    if topics[0] == TRANSFER:
        if count == _ITEM_TOPICS:
            standard = TokenStandard.ERC721
        elif count == _ITEM_TOPICS - 1 and size == _WORD:
            standard = TokenStandard.ERC20
        else:
            return None
        sender, recipient = topics[1], topics[2]
    elif count == _ITEM_TOPICS:
        standard, sender, recipient = TokenStandard.ERC1155, topics[2], topics[3]
    else:
        return None
    if not (sender.startswith(_PADDING) and recipient.startswith(_PADDING)):
        return None
    return standard, sender[12:], recipient[12:]


def transfer_of(address: bytes, topics: Sequence[bytes], data: bytes) -> TokenTransfer | None:
    """Return what a log transfers; None if it is not a transfer."""
    found = recipient_of(topics, len(data))
    if found is None:
        return None
    standard, sender, recipient = found
    ids: tuple[int, ...] = ()
    values: tuple[int, ...]
    if standard is TokenStandard.ERC20:
        values = (int.from_bytes(data),)
    elif standard is TokenStandard.ERC721:
        ids, values = (int.from_bytes(topics[3]),), (1,)
    elif topics[0] == TRANSFER_BATCH:
        ids, values = _numbers(data, 0), _numbers(data, _WORD)
    else:
        ids, values = (_number(data, 0),), (_number(data, _WORD),)
    return TokenTransfer(
        Address(address), standard, Address(sender), Address(recipient), values, ids
    )


def _number(data: bytes, at: int) -> int:
    """Return the word at an offset; zeros follow the end of the data."""
    return int.from_bytes(data[at : at + _WORD].ljust(_WORD, b"\0"))


def _numbers(data: bytes, at: int) -> tuple[int, ...]:
    """Return the array whose offset is at `at`, as far as the data has it, and at most `MAX_ITEMS`."""
    start = _number(data, at)
    if start + _WORD > len(data):
        return ()
    present = (len(data) - start - _WORD) // _WORD
    count = min(_number(data, start), present, MAX_ITEMS)
    return tuple(_number(data, start + _WORD * (1 + index)) for index in range(count))
