"""Numbers and strings of published data, read from `docs/availability.md` alone."""

from __future__ import annotations


class RejectedError(Exception):
    """The data is not what the page allows."""

    def __init__(self, reason: str, offset: int = 0, *, unknown_version: bool = False) -> None:
        super().__init__(f"{reason} at {offset}")
        self.unknown_version = unknown_version


class Cursor:
    """A place in bytes. *Remembers* the offset, and how many steps were taken, which is the work it took."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offset = 0
        self.steps = 0

    def left(self) -> int:
        return len(self.data) - self.offset

    def require(self, allowed: bool, reason: str) -> None:
        if not allowed:
            raise RejectedError(reason, self.offset)

    def take(self, size: int) -> bytes:
        self.steps += 1
        self.require(size <= self.left(), f"{size} bytes are missing")
        self.offset += size
        return self.data[self.offset - size : self.offset]

    def byte(self) -> int:
        return self.take(1)[0]

    def version(self, what: str) -> None:
        version = self.byte()
        if version != 1:
            raise RejectedError(
                f"unknown version {version} of {what}", self.offset, unknown_version=True
            )

    def varint(self, least: int = 0, most: int = 2**64 - 1) -> int:
        value = 0
        for position in range(10):
            part = self.byte()
            value |= (part & 0x7F) << (7 * position)
            if part < 0x80:
                self.require(part != 0 or position == 0, "a varint is not in its shortest form")
                self.require(least <= value <= most and value < 2**64, f"{value} is out of range")
                return value
        raise RejectedError("a varint has more than 10 bytes", self.offset)

    def word(self, least: int = 0, longest: int = 32) -> int:
        size = self.byte()
        self.require(size <= longest, "a word is too long")
        content = self.take(size)
        self.require(not content or content[0] != 0, "a word has a leading zero")
        value = int.from_bytes(content, "big")
        self.require(value >= least, "a word is zero where it must not be")
        return value

    def string(self, least: int = 0, most: int = 2**64 - 1) -> bytes:
        return self.take(self.varint(least, most))

    def flags(self, known: int) -> int:
        flags = self.byte()
        self.require(flags & ~known == 0, "an unknown flag")
        return flags

    def count(self, least_size: int, least: int = 0, most: int = 2**64 - 1) -> int:
        count = self.varint(least, most)
        self.require(count * least_size <= self.left(), f"{count} items do not fit")
        return count

    def end(self) -> None:
        self.require(self.left() == 0, "bytes after the end")
