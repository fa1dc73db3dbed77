"""The state of a producer's chain in shared memory: what its replicas have to know before they serve a request."""

from __future__ import annotations

import mmap
import os
import zlib
from enum import IntFlag
from typing import Final, NamedTuple, Self

import msgspec

PAGE_BYTES: Final = 16_384

# Words of eight bytes: the version, which is odd while the state is written; how many rewrites of the store have begun;
# length and checksum of the state; from _WANTED on, what each replica wants; from _HEARTBEATS on, how often it has beaten.
_VERSION, _REWRITES, _LENGTH, _CHECKSUM = range(4)
_WANTED: Final = 8
MAX_REPLICAS: Final = 252
_HEARTBEATS: Final = _WANTED + MAX_REPLICAS
_PAYLOAD: Final = 4_096
MAX_REVERTS: Final = 64
"""How many reverts a state lists; a replica that missed more evicts everything."""
_ATTEMPTS: Final = 8


class Wanted(IntFlag):
    """The events that a replica wants to be woken by."""

    BLOCKS = 1
    TRANSACTIONS = 2


class Revert(NamedTuple):
    """The revert `serial` of a chain, to block `number`; `batched` is the last block that is in a batch since."""

    serial: int
    number: int
    batched: int


class ChainState(msgspec.Struct, frozen=True, kw_only=True):
    """A producer's announcement about its chain; blocks, batches and states are in the store."""

    head: int
    head_hash: bytes
    rewrites: int
    """How many rewrites of the store have begun until then."""
    reverts: tuple[Revert, ...] = ()
    """The last reverts, oldest first."""
    safe: int = 0
    finalized: int = 0
    beneficiary: bytes | None = None
    batched: int = -1
    """The last block that is in a sealed batch."""
    l1_gas_price: int | None = None
    ether_price: bytes | None = None
    """The price of ether in the base token, packed; None if the layer has no prices of its own."""
    is_edited: bool = False
    """Whether the state differs from that after the head, or fees from those that follow from it."""


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(ChainState).decode


class StatePage:
    """A page of memory that a producer writes and its replicas read.

    A state is written between two versions, and has a checksum, so that no reader takes half of one. Remembers: the
    state written last. Assumes: one writer, and one replica for each index. Fails: never; a reader that finds no whole
    state gets None.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        """The file descriptor of the memory, to pass to a replica."""
        self._memory = mmap.mmap(handle, PAGE_BYTES)
        self._words = memoryview(self._memory).cast("Q")

    @classmethod
    def create(cls) -> Self:
        """Return a new page."""
        handle = os.memfd_create("entresol-state", os.MFD_CLOEXEC)
        os.ftruncate(handle, PAGE_BYTES)
        return cls(handle)

    def close(self) -> None:
        """Release the memory."""
        self._words.release()
        self._memory.close()
        os.close(self.handle)

    @property
    def version(self) -> int:
        """The version of the state; other for each state."""
        return self._words[_VERSION]

    @property
    def rewrites(self) -> int:
        """How many rewrites of the store have begun."""
        return self._words[_REWRITES]

    def begin_rewrite(self) -> None:
        """Count a rewrite of the store, before it happens: until the next state no replica reads more of the store."""
        self._words[_REWRITES] += 1

    def write(self, state: ChainState) -> None:
        """Announce a state."""
        payload = _encode(state)
        words = self._words
        words[_VERSION] += 1
        words[_LENGTH], words[_CHECKSUM] = len(payload), zlib.crc32(payload)
        self._memory[_PAYLOAD : _PAYLOAD + len(payload)] = payload
        words[_VERSION] += 1

    def read(self) -> tuple[int, ChainState] | None:
        """Return version and state; None if the producer is writing it, or has written none."""
        for _ in range(_ATTEMPTS):
            version, length, checksum = (
                self._words[place] for place in (_VERSION, _LENGTH, _CHECKSUM)
            )
            if version == 0 or version % 2:
                continue
            payload = self._memory[_PAYLOAD : min(_PAYLOAD + length, PAGE_BYTES)]
            if self._words[_VERSION] == version and zlib.crc32(payload) == checksum:
                return version, _decode(payload)
        return None

    def want(self, index: int, wanted: Wanted) -> None:
        """Set what the replica `index` wants to be woken by."""
        self._words[_WANTED + index] = wanted

    def wanted(self, index: int) -> int:
        """Return what the replica `index` wants to be woken by."""
        return self._words[_WANTED + index]

    def beat(self, index: int) -> None:
        """Count a heartbeat of the replica `index`."""
        self._words[_HEARTBEATS + index] += 1

    def heartbeats(self, index: int) -> int:
        """Return how often the replica `index` has beaten; 0 until it listens."""
        return self._words[_HEARTBEATS + index]

    def forget(self, index: int) -> None:
        """Note that the replica `index` has ended."""
        self._words[_WANTED + index] = self._words[_HEARTBEATS + index] = 0
