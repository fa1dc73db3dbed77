"""Where a call runs: on which state, under which rules, in which block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self, TypeAlias

import msgspec

from entresol import _native
from entresol._native import Overlay, Rules, Snapshot
from entresol.primitives.headers import Header
from entresol.primitives.values import Address, Hash32

State: TypeAlias = Snapshot | Overlay


class BlockEnv(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution sees of its block; `block_hashes` count before those of the state.

    `precompiles` says which of them runs at an address, by the address that it is from, where that is not
    as the fork has it.
    """

    number: int
    timestamp: int
    gas_limit: int
    beneficiary: Address = Address.zero()
    base_fee: int = 0
    prevrandao: Hash32 = Hash32.zero()
    difficulty: int = 0
    blob_base_fee: int = 1
    block_hashes: Mapping[int, Hash32] | None = None
    precompiles: Mapping[bytes, bytes | None] | None = None

    @classmethod
    def of(cls, header: Header) -> Self:
        """Return the block with this header."""
        return cls(
            number=header.number,
            timestamp=header.timestamp,
            gas_limit=header.gas_limit,
            beneficiary=header.beneficiary,
            base_fee=header.base_fee_per_gas,
            prevrandao=header.mix_hash,
            difficulty=header.difficulty,
        )

    def env(self) -> _native.BlockEnv:
        """Return the block as the engine takes it."""
        return _native.BlockEnv(
            number=self.number,
            timestamp=self.timestamp,
            gas_limit=self.gas_limit,
            beneficiary=self.beneficiary,
            base_fee=self.base_fee,
            prevrandao=self.prevrandao,
            difficulty=self.difficulty,
            blob_base_fee=self.blob_base_fee,
            block_hashes=self.block_hashes,
            precompiles=self.precompiles,
        )


class EvmEnv(msgspec.Struct, frozen=True):
    """A state, the chain's rules and a block; one scene serves every call on the same block."""

    state: State
    rules: Rules
    block: BlockEnv
    env: _native.BlockEnv

    @classmethod
    def at(cls, state: State, rules: Rules, block: BlockEnv) -> Self:
        """Return the scene of calls on `state` in `block`."""
        return cls(state, rules, block, block.env())
