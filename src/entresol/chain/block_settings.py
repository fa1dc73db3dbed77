"""What developers set for blocks to come (`evm_setBlockGasLimit`, `anvil_setCoinbase` and others)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol.execution.evm_env import BlockEnv


class BlockSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The values that replace those of the chain's rules; None replaces nothing.

    `base_fee` and `prevrandao` are those of the next block only.
    """

    gas_limit: int | None = None
    beneficiary: Address | None = None
    base_fee: int | None = None
    prevrandao: Hash32 | None = None

    def apply(self, env: BlockEnv) -> BlockEnv:
        """Return the environment of the next block with these values."""
        if self == _NOTHING_SET:
            return env
        given: dict[str, Any] = msgspec.structs.asdict(self)
        changed = {name: value for name, value in given.items() if value is not None}
        return msgspec.structs.replace(env, **changed)

    def after_block(self) -> Self:
        """Return the settings without those of the next block only."""
        if self.base_fee is None and self.prevrandao is None:
            return self
        return msgspec.structs.replace(self, base_fee=None, prevrandao=None)


_NOTHING_SET: Final = BlockSettings()
