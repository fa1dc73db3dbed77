"""The `anvil_` namespace: Hardhat's methods and time travel by anvil's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.mining import MiningMode
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.namespaces.dev.evm import TimeTravel
from entresol.rpc.namespaces.dev.hardhat import Hardhat

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.dev.checkpoints import Checkpoints
    from entresol.chain.dev.keyring import Keyring


class Anvil(Hardhat, TimeTravel):
    """The `anvil_` namespace."""

    prefix = "anvil"

    def __init__(self, chain: Chain, keyring: Keyring, checkpoints: Checkpoints) -> None:
        Hardhat.__init__(self, chain, keyring)
        TimeTravel.__init__(self, chain, checkpoints)

    @method()
    def get_interval_mining(self) -> int | None:
        """Return the mining interval in seconds, or null if blocks are not sealed at an interval."""
        schedule = self._chain.schedule
        return int(schedule.interval_seconds) if schedule.mode is MiningMode.INTERVAL else None
