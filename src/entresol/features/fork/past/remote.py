"""The remote chain as the past is read from it, and what tells where its objects are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import msgspec
from msgspec import Raw

from entresol.errors import MalformedValue
from entresol.primitives.values import Hash32, Quantity

if TYPE_CHECKING:
    from entresol._native import RemoteTable
    from entresol.primitives.anchor import Anchor
    from entresol.primitives.headers import Header

IsFinal: TypeAlias = Callable[[Raw], bool]
"""Says of a result whether it never changes, so that it may be kept for ever."""

_NULL: Final = b"null"


class PastBlock(Protocol):
    """A block of the remote, at or below the anchor."""

    @property
    def number(self) -> int:
        """Its number."""

    @property
    def hash(self) -> Hash32:
        """Its hash, as the remote says."""

    @property
    def header(self) -> Header:
        """The part of its header that executions need; what the remote does not say has a default."""

    @property
    def json(self) -> bytes:
        """All of it, as the remote returned it."""


class PastChain(Protocol):
    """The remote chain below a fork. Any event loop may read it; every read fails with `RemoteFailed`."""

    @property
    def host(self) -> str:
        """Scheme, host and port of the remote."""

    @property
    def anchor(self) -> Anchor:
        """The block that the fork stands on."""

    @property
    def verifies(self) -> bool:
        """Whether values of states are proven, and results of methods of the remote are not enough."""

    async def read(
        self,
        method: str,
        params: Sequence[object],
        *,
        is_final: IsFinal | None = None,
        is_absent: IsFinal | None = None,
        at: int | None = None,
    ) -> Raw:
        """Return the result of a method as it came; one that `is_final` may come from the cache, and goes there.

        With `at` it follows from the block of this number; raise `AnchorLost` if the remote has another one by now. One
        that `is_absent` there is recorded as null, for a fork without a remote.
        """

    async def past_block(self, block: int | Hash32) -> PastBlock | None:
        """Return a block; None if the remote has none, or only above the anchor."""

    def hash_at(self, number: int) -> Hash32 | None:
        """Return the hash of a block that the remote may still replace; None of those that are final."""

    @property
    def hardfork(self) -> str:
        """The EVM fork of the anchor."""

    def hardfork_of(self, timestamp: int, json: bytes) -> str:
        """Return the EVM fork that a block was executed by, which has this time and this JSON."""

    def table_at(self, number: int) -> RemoteTable:
        """Return the state after a block that `past_block` has returned."""


class _Place(msgspec.Struct):
    """The block that an object says it is of; whatever else it has is not looked at."""

    number: Raw = Raw(_NULL)
    hash: Raw = Raw(_NULL)
    block_number: Raw = msgspec.field(name="blockNumber", default=Raw(_NULL))
    block_hash: Raw = msgspec.field(name="blockHash", default=Raw(_NULL))


_place: Final = msgspec.json.Decoder(_Place).decode
_text: Final = msgspec.json.Decoder(str).decode


def is_null(result: Raw) -> bool:
    """Say whether the remote has nothing."""
    return bytes(result).strip() == _NULL


def block_of(result: Raw) -> int | None:
    """Return the number of the block that a block, a transaction or a receipt names; None if it names none."""
    try:
        place = _place(result)
    except msgspec.DecodeError:
        return None
    for value in (place.number, place.block_number):
        if not is_null(value):
            return _number(value)
    return None


def hash_of(result: Raw) -> Hash32 | None:
    """Return the hash of the block that a block, a transaction or a receipt names; None if it names none."""
    try:
        place = _place(result)
        return Hash32.parse(_text(place.block_hash if is_null(place.number) else place.hash))
    except (MalformedValue, msgspec.DecodeError):
        return None


def _number(value: Raw) -> int | None:
    try:
        return int(Quantity.parse(_text(value)))
    except (MalformedValue, msgspec.DecodeError):
        return None
