"""Read published bytes: numbers in their shortest form, byte strings, and counts that the rest can hold."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from entresol.errors import UnknownPublishedVersion, UnreadableData
from entresol.primitives.values import FixedBytes

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_VARINT: Final = 2**64 - 1
_MAX_VARINT_BYTES: Final = 10
MAX_WORD_BYTES: Final = 32

T = TypeVar("T", bound=FixedBytes)


class Reader:
    """Reads one value after the other; everything else is rejected with the field and its offset."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._what = what
        self._at = 0

    @property
    def offset(self) -> int:
        """Where the next value begins."""
        return self._at

    @property
    def remaining(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    @contextmanager
    def within(self, part: str) -> Iterator[None]:
        """Read fields of a part, by which errors name them."""
        whole, self._what = self._what, f"{self._what}.{part}"
        yield
        self._what = whole

    def unreadable(self, field: str, problem: str, *, offset: int | None = None) -> UnreadableData:
        """Return the error of a field; by default it is the next one."""
        at = self._at if offset is None else offset
        return UnreadableData(f"{self._what}.{field}", problem, offset=at)

    def version(self, known: int) -> int:
        """Read the version, which has to be the known one."""
        begin, found = self._at, self.byte("version")
        if found != known:
            raise UnknownPublishedVersion(f"{self._what}.version", found, known, offset=begin)
        return found

    def byte(self, field: str) -> int:
        """Read one byte."""
        return self.take(1, field)[0]

    def flags(self, field: str, known: int) -> int:
        """Read a byte of flags, of which no other than the known ones is set."""
        begin, found = self._at, self.byte(field)
        if found & ~known:
            raise self.unreadable(field, f"flags {found:#04x} have unknown bits", offset=begin)
        return found

    def take(self, size: int, field: str) -> bytes:
        """Read so many bytes."""
        begin, end = self._at, self._at + size
        if end > len(self._data):
            raise self.unreadable(field, f"{size} bytes expected, {self.remaining} are left")
        self._at = end
        return self._data[begin:end]

    def fixed(self, kind: type[T], field: str) -> T:
        """Read a value of fixed length."""
        return kind(self.take(kind.size, field))

    def varint(self, field: str, *, lowest: int = 0, highest: int = MAX_VARINT) -> int:
        """Read a number: seven bits a byte, the lowest first, in as few bytes as possible."""
        found = self._data[self._at : self._at + _MAX_VARINT_BYTES]
        size = next((size for size, byte in enumerate(found, 1) if byte < 0x80), None)
        if size is None:
            raise self.unreadable(field, f"a number ends within {_MAX_VARINT_BYTES} bytes")
        if size > 1 and not found[size - 1]:
            raise self.unreadable(field, "the number is not in its shortest form")
        value = 0
        for byte in reversed(found[:size]):
            value = value << 7 | byte & 0x7F
        if not lowest <= value <= highest:
            raise self.unreadable(field, f"{lowest} to {highest} expected, got {value}")
        self._at += size
        return value

    def count(
        self, field: str, least_size: int, *, lowest: int = 1, highest: int = MAX_VARINT
    ) -> int:
        """Read how many items follow, each of at least so many bytes; more than can follow are rejected here."""
        begin = self._at
        found = self.varint(field, lowest=lowest, highest=highest)
        if found * least_size > self.remaining:
            problem = f"{found} items of at least {least_size} bytes, {self.remaining} are left"
            raise self.unreadable(field, problem, offset=begin)
        return found

    def word(self, field: str, *, highest_size: int = MAX_WORD_BYTES) -> bytes:
        """Read a number of up to 256 bits: its length, then its bytes, the highest first and not zero."""
        begin, size = self._at, self.byte(field)
        if size > highest_size:
            problem = f"a number of at most {highest_size} bytes expected, got {size}"
            raise self.unreadable(field, problem, offset=begin)
        found = self.take(size, field)
        if found[:1] == b"\0":
            raise self.unreadable(field, "the number has a leading zero byte", offset=begin)
        return found

    def string(self, field: str, *, lowest: int = 0, highest: int = MAX_VARINT) -> bytes:
        """Read a byte string: its length, then its bytes."""
        return self.take(self.varint(field, lowest=lowest, highest=highest), field)

    def end(self) -> None:
        """Reject what follows the last value."""
        if self.remaining:
            raise self.unreadable("end", f"{self.remaining} bytes follow")
