"""Preimages of hashed keys."""

from __future__ import annotations

from collections.abc import Iterator

from entresol._native import keccak256
from entresol.primitives.values import Hash32
from entresol.state.preimages import Preimages
from entresol.storage.tables import StateKeys

HEAD, OTHER = Hash32(b"\1" * 32), Hash32(b"\2" * 32)


class Keys(StateKeys):
    """Five addresses, three slots of each, and a count of how often they are listed."""

    def __init__(self) -> None:
        self.listed = 0

    def addresses(self) -> Iterator[bytes]:
        self.listed += 1
        return (bytes([it]) * 20 for it in range(5))

    def slots(self, address: bytes) -> Iterator[bytes]:
        self.listed += 1
        return (address[:1] + bytes([it]) * 31 for it in range(3))


def test_keys_are_found_by_their_hashes() -> None:
    preimages = Preimages(Keys())
    address = b"\3" * 20
    assert preimages.addresses(HEAD)[keccak256(address)] == address
    slot = b"\3" + b"\2" * 31
    assert preimages.slots(address, HEAD)[keccak256(slot)] == slot


def test_no_more_than_the_limit_are_hashed() -> None:
    assert len(Preimages(Keys(), max_keys=2).addresses(HEAD)) == 2


def test_they_are_listed_once_for_a_head() -> None:
    keys = Keys()
    preimages = Preimages(keys)
    for _ in range(3):
        preimages.addresses(HEAD)
    assert keys.listed == 1
    preimages.addresses(OTHER)
    assert keys.listed == 2
