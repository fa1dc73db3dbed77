"""A chain whose operator publishes its batches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from entresol.chain.base_fee import L2BaseFee
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.fees import FeeConstants, FeeModel
from entresol.chain.rules import ChainRules
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.publication.publication import Publication
from entresol.rollup.system_contracts import system_genesis
from tests.support.chain.varied_chain import varied_genesis
from tests.support.contracts.layer_two import L1_ASSET_ROUTER, L1_CHAIN_ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.genesis.genesis import Genesis
    from entresol.primitives.base_token import EtherPrice
    from entresol.primitives.published.genesis import PublishedGenesis
    from entresol.primitives.transactions import PriorityTransaction


def publishing_genesis() -> Genesis:
    """Return the genesis of the chain: contracts of every ending, and the system contracts."""
    genesis = varied_genesis(270)
    system = system_genesis(
        l1_chain_id=L1_CHAIN_ID, l1_asset_router=L1_ASSET_ROUTER, l1_takes_l2_tokens=True
    )
    return msgspec.structs.replace(genesis, alloc={**genesis.alloc, **system})


class PublishingChain:
    """Seals blocks and batches on request; its deposits are those that L1 has."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        genesis: Genesis | None = None,
        ether_price: EtherPrice | None = None,
        **rules: Any,
    ) -> None:
        self._path = path
        self._genesis = publishing_genesis() if genesis is None else genesis
        self._ether_price = ether_price
        self._rules = rules
        self.now = 1_000.0
        self.deposits: list[PriorityTransaction] = []
        self._open(FeeConstants())

    def reopen(self, constants: FeeConstants | None = None, **rules: Any) -> None:
        """Start the operator again with other rules; the chain has to be in a directory."""
        assert self._path is not None
        self.chain.close()
        self._rules |= rules
        self._open(constants or self.fees.constants)

    def close(self) -> None:
        self.chain.close()

    def deposit(self, payload: PriorityTransaction) -> None:
        self.deposits.append(msgspec.structs.replace(payload, nonce=len(self.deposits)))
        self.chain.enqueue(self.deposits[-1])

    def deposits_from(self, first: int, count: int) -> Sequence[PriorityTransaction]:
        """Return consecutive deposits, fewer if there are not more."""
        return self.deposits[first : first + count]

    def seal(self, seconds: int = 1) -> int:
        self.now += seconds
        self.chain.builder.seal()
        return self.chain.number

    def genesis(self) -> PublishedGenesis:
        return Publication(self.chain).genesis()

    def _open(self, constants: FeeConstants) -> None:
        self.fees = FeeModel(constants, ether_price=self._ether_price)
        settings = {"publishes": True, "fees": L2BaseFee(self.fees), **self._rules}
        rules = msgspec.structs.replace(ChainRules.layer_2(), **settings)
        self.chain = Chain.open(self._path, rules, self._genesis, clock=Clock(lambda: self.now))
        self.chain.schedule.seal_on_request()
        policy = SealingPolicy(max_age=1e9)
        publication = Publication.of(self.chain)
        blocks, batches = self.chain.blocks, self.chain.batches
        self.batcher = Batcher(blocks, batches, policy, publication=publication)
        self.batcher.begin()
