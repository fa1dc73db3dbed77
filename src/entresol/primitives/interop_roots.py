"""Roots over the messages of all chains, which L1 gathers and every chain imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Self

from entresol._native import keccak256
from entresol.errors import MalformedValue
from entresol.primitives import abi
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


ROOT_STORAGE: Final[Address] = Address((0x10008).to_bytes(20))
MESSAGE_VERIFICATION: Final = Address((0x10009).to_bytes(20))

MAX_ROOTS_PER_IMPORT: Final = 100
"""How many roots one transaction, and so one block, imports."""
MAX_ROOTS_PER_BATCH: Final = 350
"""How many roots a batch imports.

The transaction that executes a batch on L1 lists each with `ENCODED_ROOT_BYTES`, beside up to 1,024 priority
transactions, and nodes of L1 take no transaction above 128 KiB: the 1,000 of the protocol do not fit.
"""
ENCODED_ROOT_BYTES: Final = 7 * 32

ROOT_ADDED: Final = keccak256(b"InteropRootAdded(uint256,uint256,bytes32[])")
"""The event of an imported root."""

ROOT_TYPE: Final = "(uint256,uint256,uint256,bytes32[])"
_IMPORT: Final = f"addInteropRootsInBatch({ROOT_TYPE}[])"
_SELECTOR: Final = keccak256(_IMPORT.encode())[:4]


_CALL_SIZE: Final = 4 + 2 * 32
"""The selector, the offset of the list and its length."""
_ROOT_SIZE: Final = 7 * 32
"""Its offset, three numbers, and the offset, the length and the item of its sides."""

_ERRORS: Final = {
    keccak256(f"{name}{types}".encode())[:4]: (name, types)
    for name, types in (
        ("Unauthorized", "(address)"),
        ("SidesLengthNotOne", "(uint256)"),
        ("InteropRootIsZero", "()"),
        ("InteropTimestampIsZero", "()"),
        ("InteropRootAlreadyExists", "(uint256,uint256)"),
    )
}
"""The errors that an import reverts with."""


class InteropRoot(NamedTuple):
    """The root over all chains at the end of a block of L1."""

    chain_id: int
    """The chain id of L1."""
    block_number: int
    timestamp: int
    sides: tuple[Hash32, ...]
    """One: the root itself."""

    @classmethod
    def of(cls, chain_id: int, block_number: int, timestamp: int, root: Hash32) -> Self:
        """Return the root of one block."""
        return cls(chain_id, block_number, timestamp, (root,))

    @property
    def root(self) -> Hash32:
        """The root itself."""
        return self.sides[0]


def import_call(roots: Sequence[InteropRoot]) -> bytes:
    """Return the call that imports roots into an L2."""
    return abi.encode_call(_IMPORT, list(roots))


def import_size(count: int) -> int:
    """Return the bytes of a call that imports so many roots."""
    return _CALL_SIZE + _ROOT_SIZE * count


def imported_roots(call: bytes) -> list[InteropRoot]:
    """Return the roots that a call imports; raises `MalformedValue` if it is not such a call."""
    if call[:4] != _SELECTOR:
        return []
    (found,) = abi.decode(f"({ROOT_TYPE}[])", call[4:])
    return [
        InteropRoot(chain_id, number, timestamp, tuple(map(Hash32, sides)))
        for chain_id, number, timestamp, sides in found
    ]


def import_error(output: bytes) -> str | None:
    """Return by name what an import reverted with, or None if it is not an error of the storage of roots."""
    name, types = _ERRORS.get(output[:4], ("", ""))
    if not name:
        return None
    try:
        values = abi.decode(types, output[4:])
    except MalformedValue:
        return name
    return f"{name}({', '.join(map(str, values))})"


def rolling_hash(roots: Iterable[InteropRoot]) -> Hash32:
    """Return the hash over the roots of a batch, as L1 computes it; zero without any."""
    found = Hash32.zero()
    for root in roots:
        words = (root.chain_id, root.block_number, root.timestamp)
        packed = b"".join(word.to_bytes(32) for word in words) + b"".join(root.sides)
        found = Hash32(keccak256(found + packed))
    return found
