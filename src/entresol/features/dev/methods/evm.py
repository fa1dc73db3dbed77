"""Snapshots and time: `evm_`, which Ganache introduced, and the same methods of `anvil_`."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import InvalidParams, MalformedValue, RollbackRejected
from entresol.execution.evm_env import MAX_GAS_LIMIT
from entresol.features.dev.methods.mining import seal_ordered
from entresol.features.dev.mine_request import MineRequest
from entresol.primitives.published.limits import MAX_SET_GAS
from entresol.primitives.values import Quantity
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.types.number import Number, Number256

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.features.dev.methods.revert_runner import RevertRunner
    from entresol.features.dev.reverts import Checkpoints
    from entresol.sequencer.sequencer import Sequencer

FIRST_MILLISECONDS: Final = 10**12
"""From here on a time is milliseconds, as in anvil: as seconds it is after the year 33,000."""


class TimeTravel:
    """Snapshots, time and the gas limit of blocks."""

    def __init__(
        self, prefix: str, chain: Chain, checkpoints: Checkpoints, reverts: RevertRunner
    ) -> None:
        self.prefix = prefix
        self._chain = chain
        self._checkpoints = checkpoints
        self._reverts = reverts

    @method(getter=True)
    def snapshot(self) -> Quantity:
        """Take a snapshot of the chain and return its id.

        With a development L1 it covers both layers, whichever receives the request, and batches with their settlement.
        It includes the clock, the pool and the settings of blocks to come; mining mode and impersonated accounts stay
        as they are.
        """
        return Quantity(self._checkpoints.create())

    @method(RollbackRejected, getter=True)
    def revert(self, snapshot: Number) -> bool | Awaitable[bool]:
        """Revert the chain to a snapshot, and return whether that snapshot existed.

        One that was taken before a chain was added by `entresol_addChain` is rejected.
        """
        return self._reverts.run(
            partial(self._checkpoints.plan, snapshot), result=True, otherwise=False
        )

    @method(InvalidParams)
    def increase_time(self, seconds: Number) -> int:
        """Move the chain's clock forward, and return its offset in seconds.

        The next block is so much later than it would have been, even if blocks that were sealed within one second
        have run ahead of the clock. Several L2s and their L1 have one clock.
        """
        return self._chain.clock.increase(int(seconds), self._chain.head.timestamp)

    @method(InvalidParams)
    def set_time(self, timestamp: Number256) -> int:
        """Set the chain's clock, also backwards, and return by how many seconds that moved it forward.

        A time from 10^12 on is in milliseconds. A block is always later than its parent, whatever the clock says. Several
        L2s and their L1 have one clock.
        """
        seconds = int(timestamp)
        if FIRST_MILLISECONDS <= seconds < 2**64 - 1:
            seconds //= 1000
        clock = self._chain.clock
        before = clock.now()
        clock.set_time(seconds)
        return max(seconds - before, 0)

    @method()
    def set_block_gas_limit(self, gas_limit: Number) -> bool:
        """Set the gas limit of blocks to come."""
        if self._chain.rules.publishes and gas_limit > MAX_SET_GAS:
            problem = (
                f"a block of a chain that publishes has at most {MAX_SET_GAS}, got {gas_limit:d}"
            )
            raise MalformedValue(problem, field="gasLimit")
        settings = msgspec.structs.replace(
            self._chain.settings, gas_limit=min(int(gas_limit), MAX_GAS_LIMIT)
        )
        self._chain.configure(settings)
        return True


class Evm(TimeTravel):
    """The `evm_` namespace."""

    def __init__(
        self, chain: Chain, sequencer: Sequencer, checkpoints: Checkpoints, reverts: RevertRunner
    ) -> None:
        super().__init__("evm", chain, checkpoints, reverts)
        self._sequencer = sequencer

    @method(InvalidParams)
    async def mine(self, options: MineRequest | None = None) -> Quantity:
        """Seal a block, optionally with a given timestamp, or several by `{timestamp, blocks}`."""
        await seal_ordered(self._chain, self._sequencer, options)
        return Quantity(0)
