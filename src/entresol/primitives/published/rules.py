"""Block rules: what decides the header of a block beside what is published with it."""

from __future__ import annotations

import re
from typing import Final, Self

import msgspec

from entresol._native import keccak256
from entresol.errors import NotPublishable
from entresol.primitives.published import writer
from entresol.primitives.published.limits import MAX_BLOCK_GAS
from entresol.primitives.published.reader import MAX_VARINT, Reader
from entresol.primitives.values import Address, Hash32

VERSION: Final = 1
PARTS: Final = 1_000_000
"""The overhead parts are in parts of so many."""
MAX_FORK_BYTES: Final = 32
MAX_RULES_BYTES: Final = 140
"""As many as an encoding can take: version, flags, nine numbers, the name of a fork and an address."""

_FORK: Final = re.compile(r"[a-z][a-z0-9_]*")
_IS_DEVELOPMENT: Final = 1
_CAPS_GAS: Final = 2
_LIMITS_CODE: Final = 4
_FLAGS: Final = _IS_DEVELOPMENT | _CAPS_GAS | _LIMITS_CODE
_NUMBERS: Final = (
    ("gas_limit", 0, MAX_BLOCK_GAS), ("minimal_l2_gas_price", 0, MAX_VARINT),
    ("compute_overhead_part", 0, MAX_VARINT), ("pubdata_overhead_part", 0, MAX_VARINT),
    ("batch_overhead_l1_gas", 0, MAX_VARINT),
    ("max_gas_per_batch", 1, MAX_VARINT), ("max_pubdata_per_batch", 1, MAX_VARINT),
)  # fmt: skip
"""The numbers after the beneficiary, in their order, with the least and the most that each may be."""


class BlockRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a chain's blocks, published with its genesis, and again when they change."""

    version: int = VERSION
    chain_id: int
    is_development: bool
    fork: str
    """The name of an Ethereum fork, as `ChainRules` has it."""
    code_size_limit: int | None
    """The maximum size of deployed code; None for no limit."""
    caps_gas: bool
    gas_limit: int
    beneficiary: Address
    minimal_l2_gas_price: int
    compute_overhead_part: int
    """In parts per million, as the next one."""
    pubdata_overhead_part: int
    batch_overhead_l1_gas: int
    max_gas_per_batch: int
    max_pubdata_per_batch: int

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode what `encode` writes; reject any other encoding."""
        reader = Reader(data, "rules")
        found = cls.read(reader)
        reader.end()
        return found

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read what `encode` writes; what follows it is another value."""
        version = reader.version(VERSION)
        flags = reader.flags("flags", _FLAGS)
        chain_id = reader.varint("chain_id", lowest=1)
        fork = _read_fork(reader)
        code_size_limit = reader.varint("code_size_limit") if flags & _LIMITS_CODE else None
        beneficiary = reader.fixed(Address, "beneficiary")
        numbers = {
            name: reader.varint(name, lowest=lowest, highest=highest)
            for name, lowest, highest in _NUMBERS
        }
        return cls(
            version=version,
            chain_id=chain_id,
            is_development=bool(flags & _IS_DEVELOPMENT),
            fork=fork,
            code_size_limit=code_size_limit,
            caps_gas=bool(flags & _CAPS_GAS),
            beneficiary=beneficiary,
            **numbers,
        )

    def encode(self) -> bytes:
        """Return the only encoding; raise `NotPublishable` for a value that it cannot hold."""
        if self.version != VERSION:
            raise NotPublishable("rules.version", f"{VERSION} expected, got {self.version}")
        limit = self.code_size_limit
        flags = self.is_development * _IS_DEVELOPMENT | self.caps_gas * _CAPS_GAS
        flags |= 0 if limit is None else _LIMITS_CODE
        return b"".join(
            (
                bytes((VERSION, flags)),
                writer.varint(self.chain_id, "rules.chain_id", lowest=1),
                self._encoded_fork(),
                b"" if limit is None else writer.varint(limit, "rules.code_size_limit"),
                writer.fixed(self.beneficiary, Address.size, "rules.beneficiary"),
                *(
                    writer.varint(
                        getattr(self, name), f"rules.{name}", lowest=lowest, highest=highest
                    )
                    for name, lowest, highest in _NUMBERS
                ),
            )
        )

    def hash(self) -> Hash32:
        """Return the hash of the encoding, which every batch names."""
        return Hash32(keccak256(self.encode()))

    def _encoded_fork(self) -> bytes:
        if _FORK.fullmatch(self.fork) is None:
            raise NotPublishable("rules.fork", f"the name of a fork expected, got {self.fork!r}")
        name = self.fork.encode()
        return writer.string(name, "rules.fork", lowest=1, highest=MAX_FORK_BYTES)


def _read_fork(reader: Reader) -> str:
    begin = reader.offset
    # Every byte is a character, so nothing else can be a name of the same text.
    fork = reader.string("fork", lowest=1, highest=MAX_FORK_BYTES).decode("latin-1")
    if _FORK.fullmatch(fork) is None:
        raise reader.unreadable("fork", f"the name of a fork expected, got {fork!r}", offset=begin)
    return fork
