"""The relay of a node: a lane for each L2 whose settings ask for one, also of those that are added."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from entresol._native import address_of, public_key
from entresol.background_task import BackgroundTask, stop_all
from entresol.features.relay.bundle_relay import BundleRelay, BundleSource
from entresol.features.relay.dispatch import RelayProofs
from entresol.features.relay.relay_account import (
    ChainAccount,
    RelayAccount,
    RelayFunding,
    RemoteAccount,
)
from entresol.features.relay.settings import RelayConfig, relays
from entresol.features.relay.withdrawal_relay import WithdrawalRelay
from entresol.l1.operator import Operator
from entresol.node.metrics import Sample
from entresol.node.opening.development_keys import RELAY
from entresol.node.settlement.chain_operators import relay_key
from entresol.node.settlement.rollup import Rollup
from entresol.node.settlement.settlement_layer import fee_limits
from entresol.primitives.values import Address, Hash32
from entresol.rollup.log_prover import LogProver
from entresol.rollup.step_loop import Backoff, StepLoop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from entresol.node.chain_plan import OpenChain
    from entresol.node.config.schema import NodeConfig
    from entresol.node.feature import ServedChain

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
"""How often chains that were added, and what is left to pay with, are noticed."""
EMBEDDED_SECONDS: Final = 0.1
REMOTE_SECONDS: Final = 5.0
"""How often withdrawals are looked for on a development L1 and on a remote one."""


def relay_secret(layer_twos: Sequence[ServedChain], *, is_development: bool) -> Hash32:
    """Return the key of the relay: on a remote L1 it follows from that of the first operator."""
    rollup = layer_twos[0].rollup
    if is_development or not isinstance(rollup, Rollup):
        return RELAY.secret
    return relay_key(rollup.settlement_layer.operator_keys.deployer.secret)


class RelayLane:
    """The relay's work for one L2: executing bundles there, and finalizing its withdrawals."""

    def __init__(
        self,
        layer_two: ServedChain,
        rollup: Rollup,
        on_l1: RelayAccount,
        on_l2: ChainAccount,
        funding: RelayFunding | None,
    ) -> None:
        settings, chain = layer_two.plan.config.of(RelayConfig), layer_two.chain
        self.layer_two = layer_two
        self.funding = funding
        self.bundles: BundleRelay | None = None
        self.withdrawals: WithdrawalRelay | None = None
        contracts, name = rollup.settlement_layer.contracts, chain.rules.chain_id
        self._tasks: list[BackgroundTask] = []
        if settings.relay is not None:
            self.bundles = BundleRelay(
                *(chain, rollup.l1_chain_id, on_l2),
                max_gas=settings.relay_max_gas,
                interval=settings.relay,
            )
            rollup.transfers.bundle_problem = self.bundles.reason
            self._tasks.append(BackgroundTask(f"relay of bundles to {name}", self.bundles.run))
        if settings.finalize_withdrawals:
            is_remote = isinstance(on_l1, RemoteAccount)
            proofs = RelayProofs(LogProver(chain.blocks, chain.batches))
            self.withdrawals = WithdrawalRelay(
                *(chain, rollup.transfers, proofs, contracts.nullifier, on_l1),
                max_gas=settings.relay_max_gas,
                interval=REMOTE_SECONDS if is_remote else EMBEDDED_SECONDS,
            )
            rollup.transfers.withdrawal_problem = self.withdrawals.reason
            run = self.withdrawals.run
            self._tasks.append(BackgroundTask(f"relay of withdrawals of {name}", run))

    @property
    def problem(self) -> str | None:
        """Why it does not relay; None if it does."""
        parts = (self.bundles, self.withdrawals, *self._tasks)
        found = (part.problem for part in parts if part is not None and part.problem is not None)
        return next(found, None)

    def start(self) -> None:
        """Start to relay."""
        for task in self._tasks:
            task.start()

    async def stop(self) -> None:
        """Relay no more."""
        await stop_all(self._tasks)
        if self.bundles is not None:
            self.bundles.close()

    def metrics(self) -> Iterator[Sample]:
        """Yield what it has done, and holds."""
        bundles, withdrawals = self.bundles, self.withdrawals
        both = [relay for relay in (bundles, withdrawals) if relay is not None]
        for name, description, value in (
            (
                "executed",
                "Bundles that the relay has executed.",
                bundles.done if bundles else 0,
            ),
            (
                "finalized",
                "Withdrawals that the relay has finalized.",
                withdrawals.done if withdrawals else 0,
            ),
            ("failed", "Tries of the relay that reverted.", sum(relay.failed for relay in both)),
            (
                "skipped",
                "What the relay gave up for now, after five tries or for want of room.",
                sum(relay.skipped for relay in both),
            ),
        ):
            yield Sample(f"relay_{name}_total", description, value)
        held = sum(relay.open for relay in both)
        yield Sample("relay_open", "Bundles and withdrawals that the relay holds.", held)


class NodeRelay:
    """A part of a node: relays between its L2s, and from them to L1, with one account on each chain.

    Remembers: a lane for each L2. Assumes: the event loop of the node; chains of other processes are not sources. Fails:
    each lane reports its problem, and tries again.
    """

    def __init__(self, layer_twos: Sequence[ServedChain], l1: OpenChain | None) -> None:
        """Take the list of L2s of the node, to which others may be added, and the development L1 beneath them."""
        self._layer_twos = layer_twos
        self._secret = relay_secret(layer_twos, is_development=l1 is not None)
        self._embedded: ChainAccount | None = None
        if l1 is not None:
            self._embedded = ChainAccount(l1.chain, l1.sequencer, self._secret)
        self._remote: RemoteAccount | None = None
        self._lanes: dict[int, RelayLane] = {}
        self._steps = StepLoop(
            self._look, log, failing="the relay cannot be funded", backoff=Backoff(1.0)
        )
        self._looking = BackgroundTask("relay", self._steps.run)

    @property
    def address(self) -> Address:
        """Its account, on all chains."""
        return Address(address_of(public_key(self._secret)))

    @property
    def problem(self) -> str | None:
        """The failure of what is tried again."""
        lanes = (lane.problem for lane in self._lanes.values())
        first = next((lane for lane in lanes if lane is not None), None)
        return first or self._steps.problem or self._looking.problem

    async def start(self) -> None:
        """Start the lanes of all L2s."""
        self._join()
        self._looking.start()

    async def stop(self) -> None:
        """Stop all lanes."""
        await self._looking.stop()
        for lane in self._lanes.values():
            await lane.stop()

    def health(self, chain_id: int) -> dict[str, str | None]:
        """Return the problem of the lane of an L2; nothing if it has none."""
        lane = self._lanes.get(chain_id)
        return {} if lane is None else {"relay": lane.problem}

    def metrics(self, chain_id: int) -> Iterator[Sample]:
        """Yield the samples of the lane of an L2."""
        lane = self._lanes.get(chain_id)
        yield from () if lane is None else lane.metrics()

    async def _look(self) -> float:
        self._join()
        for lane in tuple(self._lanes.values()):
            if lane.funding is not None:
                await lane.funding.step()
        return LOOK_SECONDS

    def _join(self) -> None:
        """Open lanes for L2s that have none, and let each have all others as sources."""
        for layer_two in self._layer_twos:
            chain_id = layer_two.chain.rules.chain_id
            rollup = layer_two.rollup
            if chain_id in self._lanes or not isinstance(rollup, Rollup):
                continue
            if relays(layer_two.plan.config):
                self._lanes[chain_id] = lane = self._opened(layer_two, rollup)
                lane.start()
        for chain_id, lane in self._lanes.items():
            if lane.bundles is None:
                continue
            for layer_two in self._layer_twos:
                source = layer_two.chain.rules.chain_id
                if (
                    source != chain_id
                    and isinstance(layer_two.rollup, Rollup)
                    and not lane.bundles.has(source)
                ):
                    proofs = RelayProofs(layer_two.rollup.new_interop_prover())
                    lane.bundles.add(BundleSource(layer_two.chain, chain_id, proofs))

    def _opened(self, layer_two: ServedChain, rollup: Rollup) -> RelayLane:
        layer, chain = rollup.settlement_layer, layer_two.chain
        on_l1 = self._embedded or self._remote_account(layer_two.plan.config, rollup)
        on_l2 = ChainAccount(chain, layer_two.sequencer, self._secret)
        funding = None
        if self._embedded is not None and layer_two.plan.config.of(RelayConfig).relay is not None:
            funding = RelayFunding(
                *(layer.l1, layer.contracts, layer_two.plan.base_token, chain.rules.chain_id),
                on_l1=self._embedded,
                on_l2=on_l2,
            )
        return RelayLane(layer_two, rollup, on_l1, on_l2, funding)

    def _remote_account(self, config: NodeConfig, rollup: Rollup) -> RemoteAccount:
        if self._remote is None:
            layer = rollup.settlement_layer
            operator = Operator(
                layer.l1,
                *(self._secret, fee_limits(config.l1), "the account of the relay"),
                chain_id=layer.l1_chain_id,
            )
            self._remote = RemoteAccount(operator)
        return self._remote
