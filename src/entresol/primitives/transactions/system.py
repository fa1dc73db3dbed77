"""System transactions: what the node itself puts first into a block, to import roots of L1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Self

import msgspec

from entresol import _native
from entresol._native import keccak256, rlp_encode
from entresol.errors import MalformedTransaction, MalformedValue
from entresol.primitives import rlp
from entresol.primitives.interop_roots import (
    MAX_ROOTS_PER_IMPORT,
    ROOT_STORAGE,
    InteropRoot,
    import_call,
    imported_roots,
)
from entresol.primitives.transactions.ethereum import Access, Authorization
from entresol.primitives.transactions.priority import L1_TYPES
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Sequence

SYSTEM_TYPE: Final = 0x7D
UNSIGNED_TYPES: Final = L1_TYPES | {SYSTEM_TYPE}
"""Types that nobody signs, so that nobody can send them."""

SYSTEM_SENDER: Final = Address(_native.BOOTLOADER)
"""The bootloader, by which contracts know the node; nobody else may send from it."""

_MAX_SALT: Final = 2**64 - 2
"""The highest nonce that an account can use (EIP-2681)."""
_PREFIX: Final = bytes([SYSTEM_TYPE])

# The encoding has no gas limit, so one follows from the size of the call: 67,200 for a root of 224 bytes, which uses
# some 28,000.
_BASE_GAS: Final = 100_000
_GAS_PER_BYTE: Final = 300


class SystemTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the node that imports roots, the only one there is; nobody signs or pays for it, and it may not fail."""

    type: ClassVar[int] = SYSTEM_TYPE
    sender: ClassVar[Address] = SYSTEM_SENDER
    to: ClassVar[Address] = ROOT_STORAGE
    value: ClassVar[int] = 0
    max_fee_per_gas: ClassVar[int] = 0
    fee_cap: ClassVar[int] = 0
    tip: ClassVar[int] = 0
    chain_id: ClassVar[None] = None
    access_list: ClassVar[tuple[Access, ...]] = ()
    authorizations: ClassVar[tuple[Authorization, ...]] = ()

    data: bytes
    nonce: int
    """The salt: the nonce of the sender before it, so that no two are the same."""

    @classmethod
    def root_import(cls, roots: Sequence[InteropRoot], salt: int) -> Self:
        """Return the transaction that imports roots."""
        return cls(data=import_call(roots), nonce=salt)

    @classmethod
    def decode(cls, raw: bytes) -> Self:
        """Read what `encode` writes; raise `MalformedTransaction` for anything else."""
        if raw[:1] != _PREFIX:
            raise MalformedTransaction(f"{SYSTEM_TYPE:#x} expected first", field="type")
        try:
            to, data, salt = rlp.decode_fields(raw[1:], 3, "a system transaction")
            _check_target(rlp.read_fixed(to, Address, "to"))
            found = cls(data=rlp.read_bytes(data, "input"), nonce=rlp.read_uint(salt, 64, "salt"))
            _check_call(found.data)
        except MalformedValue as error:
            raise MalformedTransaction(error.problem, field=error.field) from None
        if found.nonce > _MAX_SALT:
            raise MalformedTransaction("the salt is too large", field="salt")
        return found

    @property
    def gas_limit(self) -> int:
        """More gas than any call of its size uses."""
        return import_gas(len(self.data))

    @property
    def roots(self) -> list[InteropRoot]:
        """The roots that it imports, oldest first."""
        return imported_roots(self.data)

    def encode(self) -> bytes:
        """Return the bytes that the transactions root commits to."""
        return _PREFIX + rlp_encode([self.to, self.data, rlp.encode_uint(self.nonce)])

    def hash(self) -> Hash32:
        """Return the hash of the encoding."""
        return Hash32(keccak256(self.encode()))


def import_gas(size: int) -> int:
    """Return the gas limit of the import by a call of so many bytes."""
    return _BASE_GAS + _GAS_PER_BYTE * size


def _check_target(to: Address) -> None:
    if to != ROOT_STORAGE:
        raise MalformedValue(f"{ROOT_STORAGE} expected, got {to}", field="to")


def _check_call(data: bytes) -> None:
    """Reject any call but that of an import, in its one encoding."""
    roots = imported_roots(data)
    if not 1 <= len(roots) <= MAX_ROOTS_PER_IMPORT:
        problem = f"1 to {MAX_ROOTS_PER_IMPORT} roots expected, got {len(roots)}"
        raise MalformedValue(problem, field="input")
    if any(len(root.sides) != 1 for root in roots):
        raise MalformedValue("a root has one side", field="input")
    if import_call(roots) != data:
        raise MalformedValue("the encoding is not canonical", field="input")
