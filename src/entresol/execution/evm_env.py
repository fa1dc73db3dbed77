"""The environment of an execution: the state it runs on, the chain's rules and the block."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Self, TypeAlias

import msgspec

from entresol import _native
from entresol._native import Overlay, Rules, Snapshot
from entresol.primitives.headers import ForkFields, Header
from entresol.primitives.values import Address, Hash32

State: TypeAlias = Snapshot | Overlay


def overlay_on(state: State) -> Overlay:
    """Return an overlay on `state`, whose changes leave `state` as it is."""
    return state.fork() if isinstance(state, Overlay) else Overlay(state)


class BlockEnv(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The block that an execution runs in.

    `block_hashes` take precedence over those of the state. `precompiles` maps an address to the
    address whose precompile runs there, or to None if none does; addresses that are not in it are as
    the fork defines them. The fork gives blob gas a price by the excess in `fork_fields`, unless
    `blob_base_fee` overrides it.
    """

    number: int
    timestamp: int
    gas_limit: int
    beneficiary: Address = Address.zero()
    base_fee: int = 0
    prevrandao: Hash32 = Hash32.zero()
    difficulty: int = 0
    blob_base_fee: int | None = None
    fork_fields: ForkFields = ForkFields()
    block_hashes: Mapping[int, Hash32] | None = None
    precompiles: Mapping[bytes, bytes | None] | None = None

    @classmethod
    def of(cls, header: Header) -> Self:
        """Return the environment of the block with this header."""
        return cls(
            number=header.number,
            timestamp=header.timestamp,
            gas_limit=header.gas_limit,
            beneficiary=header.beneficiary,
            base_fee=header.base_fee_per_gas,
            prevrandao=header.mix_hash,
            difficulty=header.difficulty,
            fork_fields=header.fork_fields(),
        )

    @cached_property
    def native(self) -> _native.BlockEnv:
        """The same block as the engine takes it; raises `OverflowError` if a number is too large for it."""
        return _native.BlockEnv(
            number=self.number,
            timestamp=self.timestamp,
            gas_limit=self.gas_limit,
            beneficiary=self.beneficiary,
            base_fee=self.base_fee,
            prevrandao=self.prevrandao,
            difficulty=self.difficulty,
            blob_base_fee=self.blob_base_fee,
            excess_blob_gas=self.fork_fields.excess_blob_gas or 0,
            block_hashes=self.block_hashes,
            precompiles=self.precompiles,
        )


class EvmEnv(msgspec.Struct, frozen=True):
    """A state, the chain's rules and a block; all calls on the same block share one."""

    state: State
    rules: Rules
    block: BlockEnv
