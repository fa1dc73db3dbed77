"""Transactions that L1 sends: deposits and other priority requests, and protocol upgrades."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import ClassVar, Final, Self

import msgspec

from entresol._native import keccak256, rlp_encode
from entresol.errors import MalformedTransaction, MalformedValue
from entresol.primitives import abi, rlp
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

The transaction that executes a batch on L1 names each by its hash, and nodes of L1 take no transaction above 128 KiB.
"""

MAX_PRIORITY_ID: Final = 2**64 - 2
"""The store numbers them with 64 bits, and the id of the next one has to fit, too."""

L1_TYPES: Final[frozenset[int]] = PRIORITY_TYPES | {UPGRADE_TYPE, OS_UPGRADE_TYPE}

# L1 has numbers for addresses and hashes, and an array for the reserved words; the encodings are the same.
_CANONICAL: Final = (
    "((uint256,address,address,uint256,uint256,uint256,uint256,uint256,uint256,uint256,"
    "uint256,address,uint256,uint256,bytes,bytes,bytes32[],bytes,bytes))"
)
_FIELDS: Final = (
    "txType", "from", "to", "gasLimit", "gasPerPubdataByteLimit", "maxFeePerGas",
    "maxPriorityFeePerGas", "paymaster", "nonce", "value",
    "reserved[0]", "reserved[1]", "reserved[2]", "reserved[3]",
    "data", "signature", "factoryDeps", "paymasterInput", "reservedDynamic",
)  # fmt: skip
_UNUSED: Final = tuple(
    map(
        _FIELDS.index,
        (
            "maxPriorityFeePerGas", "paymaster", "reserved[2]", "reserved[3]",
            "signature", "paymasterInput", "reservedDynamic",
        ),
    )
)  # fmt: skip
_WORD: Final = 32
_BARE_WORDS: Final = 1 + len(_FIELDS) + 5
"""The words of a tuple without data: its offset, its fields, and the lengths of those that are dynamic."""


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
        try:
            (words,) = abi.decode(_CANONICAL, canonical)
        except MalformedValue as error:
            raise MalformedTransaction(error.problem, field=_field(error)) from None
        if words[0] not in L1_TYPES:
            raise MalformedTransaction(f"{words[0]:#x} is not a type that L1 sends", field="txType")
        for index in _UNUSED:
            if words[index]:
                raise MalformedTransaction("must be zero or empty", field=_FIELDS[index])
        payload = cls(
            type=words[0],
            sender=Address(words[1]),
            to=Address(words[2]),
            gas_limit=words[3],
            gas_per_pubdata_limit=words[4],
            max_fee_per_gas=words[5],
            nonce=words[8],
            value=words[9],
            to_mint=words[10],
            refund_recipient=Address(words[11]),
            data=words[14],
            factory_dep_hashes=tuple(map(Hash32, words[16])),
            factory_deps=factory_deps,
        )
        payload._check_canonical(canonical)
        return payload

    def check_request(self) -> None:
        """Reject what is not a request of a user, or what a block record cannot hold, before it is queued."""
        if self.type not in PRIORITY_TYPES:
            raise MalformedTransaction(
                f"{self.type:#x} is not the type of a priority transaction", field="txType"
            )
        if self.nonce > MAX_PRIORITY_ID:
            raise MalformedTransaction("the id of the request is too large", field="nonce")

    @property
    def fee_cap(self) -> int:
        """The wei it pays for a unit of gas."""
        return self.max_fee_per_gas

    def to_abi(self) -> bytes:
        """Return the tuple as L1 encodes it; its hash is the transaction's."""
        words = (
            self.type,
            self.sender,
            self.to,
            self.gas_limit,
            self.gas_per_pubdata_limit,
            self.max_fee_per_gas,
            0,
            0,
            self.nonce,
            self.value,
            self.to_mint,
            self.refund_recipient,
            0,
            0,
            self.data,
            b"",
            self.factory_dep_hashes,
            b"",
            b"",
        )
        return abi.encode(_CANONICAL, (words,))

    @property
    def abi_size(self) -> int:
        """The length of what `to_abi` returns."""
        words = -(-len(self.data) // _WORD) + len(self.factory_dep_hashes)
        return _WORD * (_BARE_WORDS + words)

    def encode(self) -> bytes:
        """Return what is stored: the type, then an RLP list of the tuple and the dependencies."""
        return bytes([self.type]) + rlp_encode([self.to_abi(), list(self.factory_deps)])

    def hash(self) -> Hash32:
        """Return the hash by which L1 and L2 know the transaction."""
        return Hash32(keccak256(self.to_abi()))

    def _check_canonical(self, canonical: bytes) -> None:
        """Reject an encoding of this transaction that L1 would not write."""
        expected = self.to_abi()
        if canonical == expected:
            return
        words = (slice(at, at + _WORD) for at in range(0, len(expected), _WORD))
        same = takewhile(lambda word: canonical[word] == expected[word], words)
        # The first word is the offset of the tuple.
        index = len(list(same)) - 1
        field = _FIELDS[index] if 0 <= index < len(_FIELDS) else "tuple"
        raise MalformedTransaction("the encoding is not canonical", field=field)


def _field(error: MalformedValue) -> str:
    """Return the field that could not be decoded, by its index in the error."""
    found = re.match(r"values\[0\]\[(\d+)\]", error.field or "")
    return "tuple" if found is None else _FIELDS[int(found[1])]
