"""Proofs, bundles and lists that are nearly right: what fuzzing gives the contracts of bundles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeVar

from entresol._native import keccak256

MOST = 2**256 - 1
T = TypeVar("T")
_PROOF = "(uint256,uint256,uint256,(uint16,address,bytes),bytes32[])"
PROVE = keccak256(
    b"proveL2MessageInclusionShared(uint256,uint256,uint256,(uint16,address,bytes),bytes32[])"
)[:4]
EXECUTE = keccak256(f"executeBundle(bytes,{_PROOF})".encode())[:4]
VERIFY = keccak256(f"verifyBundle(bytes,{_PROOF})".encode())[:4]


def word(value: int) -> bytes:
    """Return a number as one word."""
    return value.to_bytes(32)


def words_of(data: bytes) -> list[bytes]:
    """Return the words of data, the last of which may be shorter."""
    return [data[start : start + 32] for start in range(0, len(data), 32)]


def _bytes(data: bytes) -> bytes:
    return word(len(data)) + data + bytes(-len(data) % 32)


@dataclass(frozen=True)
class Claim:
    """A message and its proof. Every number is a whole word, so that bits above its type can be set, too."""

    chain_id: int
    batch: int
    index: int
    tx_number: int
    sender: int
    data: bytes
    path: tuple[bytes, ...]

    @classmethod
    def of(cls, proof: tuple[Any, ...]) -> Claim:
        """Read the arguments of a proof."""
        chain_id, batch, index, (tx_number, sender, data), path = proof
        place = int.from_bytes(sender)
        return cls(chain_id, batch, index, tx_number, place, bytes(data), tuple(path))

    def proving(self) -> bytes:
        """Return the data by which anyone asks whether the message was sent."""
        return PROVE + self._encoded()

    def with_bundle(self, selector: bytes, bundle: bytes) -> bytes:
        """Return the data by which a bundle is executed or verified."""
        encoded = _bytes(bundle)
        return b"".join([selector, word(64), word(64 + len(encoded)), encoded, self._encoded()])

    def _encoded(self) -> bytes:
        message = word(self.tx_number) + word(self.sender) + word(96) + _bytes(self.data)
        numbers = (self.chain_id, self.batch, self.index, 160, 160 + len(message), )  # fmt: skip
        path = word(len(self.path)) + b"".join(self.path)
        return b"".join(map(word, numbers)) + message + path


class Mutations:
    """Random changes of a value, each of which makes another value of it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def number(self, value: int) -> int:
        """Return another number of 256 bits: one bit, one more, one less, all bits, none, or any."""
        ways: list[Callable[[], int]] = [
            lambda: value ^ 1 << self.random.randrange(256),
            lambda: value ^ 1 << self.random.randrange(8),
            lambda: (value + 1) & MOST,
            lambda: (value - 1) & MOST,
            lambda: MOST,
            lambda: 0,
            lambda: value << 8 * self.random.randrange(1, 32) & MOST,
            lambda: self.random.getrandbits(256),
            lambda: self.random.randrange(300),
        ]
        return self._other(value, ways)

    def word(self, value: bytes) -> bytes:
        """Return another word."""
        return word(self.number(int.from_bytes(value)))

    def data(self, value: bytes) -> bytes:
        """Return other bytes: bits, words and lengths that are changed, moved, lost and repeated."""
        size = len(value)

        def changed_byte() -> bytes:
            place = self.random.randrange(size)
            other = value[place] ^ self.random.randrange(1, 256)
            return value[:place] + bytes([other]) + value[place + 1 :]

        def changed_word() -> bytes:
            place = 32 * self.random.randrange((size + 31) // 32)
            found = value[place : place + 32]
            return value[:place] + self.word(found)[: len(found)] + value[place + 32 :]

        def removed() -> bytes:
            start = self.random.randrange(size)
            return value[:start] + value[start + self.random.choice([1, 31, 32, 64, size]) :]

        def repeated() -> bytes:
            start = 32 * self.random.randrange((size + 31) // 32)
            return value[: start + 32] + value[start:]

        def swapped() -> bytes:
            found = words_of(value)
            a, b = self.random.randrange(len(found)), self.random.randrange(len(found))
            found[a], found[b] = found[b], found[a]
            return b"".join(found)

        def inserted() -> bytes:
            place = self.random.randrange(size + 1)
            more = self.random.choice([b"\0", bytes(32), word(32), self.random.randbytes(32)])
            return value[:place] + more + value[place:]

        ways = [changed_byte, changed_word, changed_word, removed, repeated, swapped, inserted]
        return self._other(value, [*ways, lambda: b""] if size else [inserted])

    def sequence(
        self, items: Sequence[bytes], change: Callable[[bytes], bytes]
    ) -> tuple[bytes, ...]:
        """Return another list: an item that is changed, lost, repeated, new, or in another place."""
        found = tuple(items)
        size = len(found)

        def changed() -> tuple[bytes, ...]:
            place = self.random.randrange(size)
            return (*found[:place], change(found[place]), *found[place + 1 :])

        def removed() -> tuple[bytes, ...]:
            place = self.random.randrange(size)
            return found[:place] + found[place + self.random.choice([1, 1, 2, size]) :]

        def inserted() -> tuple[bytes, ...]:
            place = self.random.randrange(size + 1)
            more = self.random.choice([*found, bytes(32), self.random.randbytes(32)])
            return (*found[:place], more, *found[place:])

        def swapped() -> tuple[bytes, ...]:
            other = list(found)
            a, b = self.random.randrange(size), self.random.randrange(size)
            other[a], other[b] = other[b], other[a]
            return tuple(other)

        return self._other(
            found, [changed, changed, changed, removed, inserted, swapped] if size else [inserted]
        )

    def claim(self, value: Claim, others: Sequence[Claim]) -> Claim:
        """Return another claim: a changed field, or some fields of another true claim, or both."""
        other = self.random.choice(others)
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            value = self.random.choice([self._field, self._field, self._path, self._mixed])(
                value, other
            )
        return value

    def _field(self, value: Claim, _: Claim) -> Claim:
        name = self.random.choice(["chain_id", "batch", "index", "tx_number", "sender", "data"])
        if name == "data":
            return replace(value, data=self.data(value.data))
        changed: dict[str, Any] = {name: self.number(getattr(value, name))}
        return replace(value, **changed)

    def _path(self, value: Claim, _: Claim) -> Claim:
        def changed(item: bytes) -> bytes:
            # The first four bytes of metadata, and the block beside the position of a chain.
            if self.random.randrange(3):
                return self.word(item)
            place = self.random.randrange(32)
            return item[:place] + bytes([self.random.randrange(40)]) + item[place + 1 :]

        return replace(value, path=self.sequence(value.path, changed))

    def _mixed(self, value: Claim, other: Claim) -> Claim:
        names = ["chain_id", "batch", "index", "data"]
        taken = {name: getattr(other, name) for name in names if self.random.randrange(2)}
        start = self.random.randrange(len(value.path) + 1)
        path = self.random.choice([value.path, value.path[:start] + other.path[start:]])
        return replace(value, path=path, **taken)

    def _other(self, value: T, ways: Sequence[Callable[[], T]]) -> T:
        while True:
            found = self.random.choice(ways)()
            if found != value:
                return found
