"""Two layers in directories, tied together and kept busy until the process is killed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from entresol.chain.chain import Chain
from entresol.chain.genesis import Genesis
from entresol.chain.rules import Rules
from entresol.l1.contracts import ZkChain
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.operator import Operator
from entresol.primitives.values import Address
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.rollup import Rollup, RollupConfig
from tests.layer_ones import ACCOUNTS
from tests.layer_ones import CHAIN_ID as L1_CHAIN_ID
from tests.settlement_contracts import SettlementContracts
from tests.settling import CHAIN_ID, GENESIS, RECEIVER, SettlingChain

OPERATOR = ACCOUNTS[1]


class Layers:
    """Both chains, durable, and the rollup between them once the contracts are there."""

    def __init__(self, path: Path) -> None:
        addresses = [account.address for account in ACCOUNTS]
        genesis = Genesis.development(L1_CHAIN_ID, addresses, 10_000 * 10**18)
        self.below = Chain.open(path / "l1", Rules.layer_1(L1_CHAIN_ID), genesis)
        self.chain = SettlingChain.open(path / "l2", Rules.layer_2(CHAIN_ID), GENESIS)
        self.l1 = EmbeddedLayerOne(self.below)

    def contracts(self, chain: Address, timelock: Address) -> SettlementContracts:
        return SettlementContracts(ZkChain(self.l1, chain), timelock, ACCOUNTS[0])

    def rollup(self, contracts: SettlementContracts) -> Rollup:
        operator = Operator(self.l1, OPERATOR.secret)
        config = RollupConfig(sealing=SealingPolicy(max_age=0.01))
        return Rollup(self.chain, contracts.chain, operator, contracts.timelock, config)

    def close(self) -> None:
        self.chain.close()
        self.below.close()


async def work(layers: Layers, contracts: SettlementContracts) -> None:
    """Deposit and send messages for ever."""
    running = asyncio.create_task(layers.rollup(contracts).run())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not running.done():
        await contracts.deposit(RECEIVER, 1)
        layers.chain.send_message(5)
        layers.chain.seal_waiting()
        await asyncio.sleep(0)
    await running


def main() -> None:
    """Work in the directory and with the contracts that the arguments name."""
    path, chain, timelock = sys.argv[1:]
    layers = Layers(Path(path))
    addresses = Address.parse(chain), Address.parse(timelock)
    asyncio.run(work(layers, layers.contracts(*addresses)))


if __name__ == "__main__":
    main()
