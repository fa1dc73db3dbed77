"""Settings of blocks to come: beneficiary, base fee, PREVRANDAO, timestamps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entresol.chain.mining_schedule import MiningMode
from entresol.errors import InvalidParams
from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.chain import Chain


class BlockControl:
    """Settings that `anvil_` and `hardhat_` share."""

    def __init__(self, prefix: str, chain: Chain) -> None:
        self.prefix = prefix
        self._chain = chain

    @method()
    def set_coinbase(self, address: Address) -> None:
        """Set the account that gets the fees of blocks to come."""
        self._configure(beneficiary=address)

    @method()
    def set_next_block_base_fee_per_gas(self, base_fee: Number) -> None:
        """Set the base fee of the next block."""
        self._configure(base_fee=int(base_fee))

    @method()
    def get_automine(self) -> bool:
        """Return whether transactions are sealed by themselves, at once or after the delay of `--l1-delay`."""
        schedule = self._chain.schedule
        return schedule.is_automine or schedule.mode is MiningMode.DELAYED

    def _configure(self, **changes: Any) -> None:
        self._chain.configure(msgspec.structs.replace(self._chain.settings, **changes))


class AnvilBlockControl(BlockControl):
    """Settings of `anvil_` alone."""

    def __init__(self, chain: Chain) -> None:
        super().__init__("anvil", chain)

    @method()
    def set_next_block_prev_randao(self, prevrandao: Hash32) -> None:
        """Set the PREVRANDAO of the next block."""
        self._configure(prevrandao=prevrandao)

    @method(InvalidParams)
    def set_block_timestamp_interval(self, seconds: Number) -> None:
        """Make each block so many seconds later than its parent, whatever the clock says."""
        self._chain.clock.set_interval(int(seconds))

    @method()
    def remove_block_timestamp_interval(self) -> bool:
        """Let the time of the clock count again, and return whether there was an interval."""
        clock = self._chain.clock
        was_set = clock.state.interval is not None
        clock.set_interval(None)
        return was_set

    @method()
    def get_interval_mining(self) -> int | None:
        """Return the mining interval in seconds, or null if blocks are not sealed at an interval."""
        schedule = self._chain.schedule
        return int(schedule.interval_seconds) if schedule.has_timer else None


class HardhatBlockControl(BlockControl):
    """Settings with the results of Hardhat, and its own."""

    acknowledges = True

    def __init__(self, chain: Chain) -> None:
        super().__init__("hardhat", chain)

    @method()
    def set_prev_randao(self, prevrandao: Hash32) -> None:
        """Set the PREVRANDAO of the next block."""
        self._configure(prevrandao=prevrandao)
