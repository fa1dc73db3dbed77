"""Transactions that L1 sends: deposits and other priority requests, and protocol upgrades."""

from __future__ import annotations

from typing import ClassVar, Final, Self

import msgspec

from entresol._native import keccak256, rlp_encode
from entresol.errors import MalformedTransaction, MalformedValue
from entresol.primitives import rlp
from entresol.primitives.transactions.ethereum import Access, Authorization
from entresol.primitives.values import Address, Hash32

PRIORITY_TYPE: Final = 0xFF
UPGRADE_TYPE: Final = 0xFE

# The same two in the dialect of ZKsync OS.
OS_PRIORITY_TYPE: Final = 0x7F
OS_UPGRADE_TYPE: Final = 0x7E

PRIORITY_TYPES: Final = frozenset({PRIORITY_TYPE, OS_PRIORITY_TYPE})
MAX_PRIORITY_TRANSACTIONS: Final = 1_024
"""How many of them a block and a batch have at most.

Who executes a batch on L1 names each by its hash, and nodes of L1 take no transaction above 128 KiB.
"""

L1_TYPES: Final = PRIORITY_TYPES | {UPGRADE_TYPE, OS_UPGRADE_TYPE}

_WORD: Final = 32
_HEAD_WORDS: Final = 19
_TUPLE_OFFSET: Final = 32


class PriorityTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that L1 has accepted and paid for, so L2 must include it.

    The hash covers the ABI tuple, and the tuple has only the hashes of factory dependencies; their
    code comes beside it. L1 has matched the two, and nothing here checks them again: a request
    that L2 rejected would block the queue for ever.
    """

    access_list: ClassVar[tuple[Access, ...]] = ()
    authorizations: ClassVar[tuple[Authorization, ...]] = ()
    chain_id: ClassVar[None] = None
    tip: ClassVar[int] = 0

    type: int = PRIORITY_TYPE
    sender: Address
    to: Address
    gas_limit: int
    gas_per_pubdata_limit: int
    max_fee_per_gas: int
    nonce: int
    value: int = 0
    to_mint: int = 0
    refund_recipient: Address = Address.zero()
    data: bytes = b""
    factory_dep_hashes: tuple[Hash32, ...] = ()
    factory_deps: tuple[bytes, ...] = ()

    @classmethod
    def decode(cls, raw: bytes) -> Self:
        """Read the storage encoding that `encode` writes."""
        try:
            canonical, deps = rlp.decode_fields(raw[1:], 2, "a stored L1 transaction")
            payload = cls.from_abi(
                rlp.read_bytes(canonical, "tuple"),
                tuple(
                    rlp.read_bytes(code, f"factoryDeps[{i}]")
                    for i, code in enumerate(rlp.read_list(deps, "factoryDeps"))
                ),
            )
        except MalformedValue as error:
            raise MalformedTransaction(error.problem, field=error.field) from None
        if raw[:1] != bytes([payload.type]):
            raise MalformedTransaction(f"{payload.type:#x} expected first", field="txType")
        return payload

    @classmethod
    def from_abi(cls, canonical: bytes, factory_deps: tuple[bytes, ...] = ()) -> Self:
        """Read the tuple as L1 encodes it, with the code of its dependencies."""
        # Each call reads on where the one before ended, so the fields stand in the tuple's order.
        words = _Tuple(canonical)
        payload = cls(
            type=words.transaction_type(),
            sender=words.address("from"),
            to=words.address("to"),
            gas_limit=words.word(),
            gas_per_pubdata_limit=words.word(),
            max_fee_per_gas=words.word(),
            nonce=words.zero("maxPriorityFeePerGas", "paymaster").word(),
            value=words.word(),
            to_mint=words.word(),
            refund_recipient=words.address("reserved[1]"),
            data=words.zero("reserved[2]", "reserved[3]").data("data"),
            factory_dep_hashes=words.no_data("signature").hashes("factoryDeps"),
            factory_deps=factory_deps,
        )
        words.no_data("paymasterInput", "reservedDynamic").finish()
        return payload

    @property
    def fee_cap(self) -> int:
        """The wei it pays for a unit of gas."""
        return self.max_fee_per_gas

    def to_abi(self) -> bytes:
        """Return the tuple as L1 encodes it; its hash is the transaction's."""
        head = (
            self.type,
            int.from_bytes(self.sender),
            int.from_bytes(self.to),
            self.gas_limit,
            self.gas_per_pubdata_limit,
            self.max_fee_per_gas,
            0,
            0,
            self.nonce,
            self.value,
            self.to_mint,
            int.from_bytes(self.refund_recipient),
            0,
            0,
        )
        hashes = len(self.factory_dep_hashes).to_bytes(_WORD) + b"".join(self.factory_dep_hashes)
        tails = (_sized(self.data), _sized(b""), hashes, _sized(b""), _sized(b""))
        offsets, offset = [], _HEAD_WORDS * _WORD
        for tail in tails:
            offsets.append(offset)
            offset += len(tail)
        words = (_TUPLE_OFFSET, *head, *offsets)
        return b"".join(word.to_bytes(_WORD) for word in words) + b"".join(tails)

    def encode(self) -> bytes:
        """Return what is stored: the type, then an RLP list of the tuple and the dependencies."""
        return bytes([self.type]) + rlp_encode([self.to_abi(), list(self.factory_deps)])

    def hash(self) -> Hash32:
        """Return the hash by which L1 and L2 know the transaction."""
        return Hash32(keccak256(self.to_abi()))


class _Tuple:
    """The words of the tuple, read in order; an encoding that L1 would not write is rejected."""

    def __init__(self, canonical: bytes) -> None:
        size = _WORD * (1 + _HEAD_WORDS)
        if len(canonical) < size or len(canonical) % _WORD:
            problem = f"at least {size} bytes in whole words expected, got {len(canonical)}"
            raise MalformedTransaction(problem, field="tuple")
        self._bytes = canonical
        self._head = 0
        self._tail = size
        if self.word() != _TUPLE_OFFSET:
            raise MalformedTransaction("the first word is not 0x20", field="tuple")

    def word(self) -> int:
        self._head += _WORD
        return int.from_bytes(self._bytes[self._head - _WORD : self._head])

    def transaction_type(self) -> int:
        kind = self.word()
        if kind not in L1_TYPES:
            raise MalformedTransaction(f"{kind:#x} is not a type that L1 sends", field="txType")
        return kind

    def address(self, field: str) -> Address:
        number = self.word()
        if number >> 160:
            raise MalformedTransaction("an address is 20 bytes, got more", field=field)
        return Address(number.to_bytes(20))

    def zero(self, *fields: str) -> Self:
        for field in fields:
            if self.word():
                raise MalformedTransaction("zero expected", field=field)
        return self

    def data(self, field: str) -> bytes:
        size = self._open(field)
        padded = self._take(-(-size // _WORD) * _WORD, field)
        if any(padded[size:]):
            raise MalformedTransaction("padding is not zero", field=field)
        return padded[:size]

    def no_data(self, *fields: str) -> Self:
        for field in fields:
            if self.data(field):
                raise MalformedTransaction("no bytes expected", field=field)
        return self

    def hashes(self, field: str) -> tuple[Hash32, ...]:
        words = self._take(self._open(field) * _WORD, field)
        return tuple(Hash32(words[i : i + _WORD]) for i in range(0, len(words), _WORD))

    def finish(self) -> None:
        if self._tail != len(self._bytes):
            raise MalformedTransaction("trailing bytes", field="tuple")

    def _open(self, field: str) -> int:
        """Return the length of the next dynamic field, which must follow the one before."""
        if self.word() + _TUPLE_OFFSET != self._tail:
            raise MalformedTransaction("offset is not the canonical one", field=field)
        return int.from_bytes(self._take(_WORD, field))

    def _take(self, size: int, field: str) -> bytes:
        if size > len(self._bytes) - self._tail:
            raise MalformedTransaction("longer than its input", field=field)
        self._tail += size
        return self._bytes[self._tail - size : self._tail]


def _sized(content: bytes) -> bytes:
    padding = bytes(-len(content) % _WORD)
    return len(content).to_bytes(_WORD) + content + padding
