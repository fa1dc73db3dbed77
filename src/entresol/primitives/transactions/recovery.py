"""Who sent stored transactions: their bytes say it, never the record that has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import InvalidTransaction, WrongSender
from entresol.errors.base import without_frames
from entresol.primitives.transactions.envelope import (
    Transaction,
    decode_many,
    load,
    named_sender,
    names_impersonated,
)
from entresol.primitives.transactions.system import UNSIGNED_TYPES
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from collections.abc import Sequence


def recover_many(
    stored: Sequence[tuple[bytes, bytes]],
) -> list[Transaction | InvalidTransaction]:
    """Decode stored transactions of any type, each with its alleged sender, and recover who has sent them.

    On all cores. What is malformed, or sent by somebody else, yields its error. That of a signature of type 0x71 is in
    the transaction, since only the state says who judges it. An impersonated one names its sender; one that was loaded
    from a state file of anvil names none, and is believed.
    """
    decoded = iter(decode_many([raw for raw, _ in stored if raw[0] not in UNSIGNED_TYPES]))
    return [
        _checked(
            _loaded(raw, sender) if raw[0] in UNSIGNED_TYPES else next(decoded),
            raw,
            Address(sender),
        )
        for raw, sender in stored
    ]


def decode_published(raws: Sequence[bytes]) -> list[Transaction | InvalidTransaction]:
    """Decode published transactions, on all cores, and recover who has sent them.

    Nobody says who that is: it is who has signed, or whom an impersonated one names. What names nobody yields its error.
    """
    decoded = zip(raws, decode_many(raws), strict=True)
    return [
        _impersonated(raw, found) if isinstance(found, InvalidTransaction) else found
        for raw, found in decoded
    ]


def _impersonated(raw: bytes, error: InvalidTransaction) -> Transaction | InvalidTransaction:
    """Return a transaction without a signature that names its sender; the error of any other."""
    unnamed = _loaded(raw, Address.zero())
    if isinstance(unnamed, InvalidTransaction):
        return error
    named = named_sender(unnamed)
    return error if named is None else load(raw, named)


def _checked(
    found: Transaction | InvalidTransaction, raw: bytes, sender: Address
) -> Transaction | InvalidTransaction:
    if isinstance(found, InvalidTransaction):
        loaded = _loaded(raw, sender)
        if isinstance(loaded, InvalidTransaction) or not names_impersonated(loaded):
            return found
        found = loaded
    return found if found.sender == sender else WrongSender(found.sender, sender)


def _loaded(raw: bytes, sender: bytes) -> Transaction | InvalidTransaction:
    try:
        return load(raw, Address(sender))
    except InvalidTransaction as error:
        return without_frames(error)
