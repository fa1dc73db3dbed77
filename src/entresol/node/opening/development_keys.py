"""Accounts of the node on a development L1: operators, the relay; their keys are publicly known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import keccak256
from entresol.chain.genesis.accounts import (
    DEVELOPMENT_MNEMONIC,
    ZK_STACK_ACCOUNTS,
    DevAccount,
    derive,
)
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHAINS: Final = 16
"""More L2s than anybody develops for at once; each takes memory and a thread or two."""

OPERATOR: Final = DevAccount.from_secret(Hash32(keccak256(b"entresol: the development operator")))
"""The operator of the development L1, which deploys and settles there; its key is publicly known."""


def operator_of(index: int) -> DevAccount:
    """Return the operator of one of the L2s on the development L1; that of the first one deploys, too."""
    if index == 0:
        return OPERATOR
    name = b"entresol: the development operator of L2 %d" % index
    return DevAccount.from_secret(Hash32(keccak256(name)))


def development_operators() -> list[Address]:
    """Return the operators of all L2s that a development L1 may have, those of chains that are added included."""
    return [operator_of(index).address for index in range(MAX_CHAINS)]


RELAY: Final = DevAccount.from_secret(Hash32(keccak256(b"entresol: the development relay")))
"""The account of the relay on the development L1 and its L2s; its key is publicly known."""

PUBLIC_KEYS: Final = 20
"""How many accounts of the development mnemonic tools show at most, unless more are requested."""


def public_keys() -> Iterator[Hash32]:
    """Yield the keys that are publicly known, as those of development accounts."""
    known = (OPERATOR, RELAY, *ZK_STACK_ACCOUNTS, *derive(DEVELOPMENT_MNEMONIC, PUBLIC_KEYS))
    return (account.secret for account in known)
