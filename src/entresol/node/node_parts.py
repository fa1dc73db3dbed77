"""The parts of a node: its chains, its features, what runs for them, and what is closed with them."""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from entresol.node.chain_service import ChainService, ServiceHooks, ServiceRole
from entresol.node.feature import ChainFeature, Feature, NodePlan, Phase, ServedChain
from entresol.node.metrics import problem_samples
from entresol.node.parts.part import Part, first_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from entresol.node.chain_plan import ChainPlan, OpenChain
    from entresol.node.config.schema import NodeConfig
    from entresol.node.metrics import Sample
    from entresol.node.settlement.rollup import Rollup
    from entresol.rollup.settlement.settler import Settler
    from entresol.terminal.log import NodeLog


class Closable(Protocol):
    """A resource that has to be closed."""

    def close(self) -> None:
        """Close it."""


Opened = TypeVar("Opened", bound=Closable)


def rollup_of(opened: OpenChain | ServedChain) -> Rollup | None:
    """Return what settles a chain in this process; None if nothing does, or another process."""
    if opened.rollup is None:
        return None
    # A node without an L2 does not need it.
    from entresol.node.settlement.rollup import Rollup  # noqa: PLC0415

    return opened.rollup if isinstance(opened.rollup, Rollup) else None


class NodeParts(NodePlan):
    """Collects the parts of a node, in the order in which they start.

    Remembers: what was opened. Fails: as what it makes does; an assembly that ends without a node, by whatever error,
    leaves nothing open.
    """

    def __init__(
        self,
        config: NodeConfig,
        log: NodeLog | None = None,
        features: Iterable[Callable[[NodePlan], Feature]] = (),
    ) -> None:
        super().__init__(config)
        self._log = log
        self._opened = contextlib.ExitStack()
        self._parts: list[Part] = []
        self._of_chains: dict[str, list[Part]] = {}
        self._settlers: list[Settler] = []
        self._of_plans: dict[ChainPlan, list[ChainFeature]] = {}
        self.features: tuple[Feature, ...] = ()
        with contextlib.ExitStack() as closing:
            for feature in features:
                made = feature(self)
                closing.callback(made.close)
                self.features += (made,)
            self._closing = closing.pop_all()
            """Closes the features: before the chains, and after what serves them."""

    def extension(self) -> NodeParts:
        """Return the same node with a list of its own of what has to be closed, for a chain that is added."""
        extension = copy.copy(self)
        extension._opened = contextlib.ExitStack()  # noqa: SLF001 - the same class
        extension._closing = contextlib.ExitStack()  # noqa: SLF001
        return extension

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._opened:
            self._closing.close()

    def opened(self, what: Opened) -> Opened:
        """Have something closed after all parts have stopped, what was opened last first."""
        self._opened.callback(what.close)
        return what

    def taken(self) -> contextlib.ExitStack:
        """Return what was opened, which the caller closes from now on."""
        return self._opened.pop_all()

    # Chains

    def plan(self, plan: ChainPlan) -> ChainPlan:
        """Return a plan of a chain to which the features add."""
        made = (feature.chain(plan) for feature in self.features)
        self._of_plans[plan] = [self.opened(feature) for feature in made if feature is not None]
        self._opened.callback(self._of_plans.pop, plan)
        return plan

    def join(self, opened: OpenChain) -> None:
        """Have one more L2, and share with its rollup what the others have: the admin's key, and the blocks of L1."""
        self.chains.append(opened)
        rollup = rollup_of(opened)
        if rollup is None:
            return
        # The deployer, which is the operator of the first, administers those of the genesis.
        self._settlers.append(rollup.settler)
        rollup.settlers = self._settlers
        if self.l1 is not None and rollup.ether_price is not None:
            rollup.ether_price.listen(self.l1.chain.events)

    def features_of(self, plan: ChainPlan) -> Sequence[ChainFeature]:
        """Return what features add to a chain that was planned."""
        return self._of_plans[plan]

    def chains_opened(self) -> None:
        """Let features take the chains, all of which are open."""
        self._opened.push(self._closing.pop_all())
        for feature in self.features:
            feature.opened(self.all_open)

    def add_chain(self, opened: OpenChain) -> None:
        """Have one more L2, which is not of the genesis, and let features know it."""
        self.join(opened)
        for feature in self.features:
            feature.opened([opened])

    @property
    def rollups(self) -> list[Rollup]:
        """The rollups that settle the L2s."""
        return [rollup for opened in self.chains if (rollup := rollup_of(opened)) is not None]

    def serve(
        self,
        opened: OpenChain,
        hooks: ServiceHooks | None = None,
        role: ServiceRole | None = None,
    ) -> ServedChain:
        """Serve a chain that is open; its service listens once it is started."""
        plan = opened.plan
        chain = self.opened(ServedChain(opened, self.features_of(plan)))
        if (rollup := rollup_of(opened)) is not None:
            rollup.sealed.add(chain.batch_sealed)
        log = None
        if self._log is not None:
            log = self._log.for_chain(
                plan.log_name,
                plan.hidden,
                is_public=not plan.is_open,
                has_transactions=plan.logs_transactions,
                explainer=chain.explainer,
            )
            # Before the chain's services are closed, whose events it follows.
            self._opened.callback(log.unfollow)
        chain.server = ChainService(chain, hooks=hooks, role=role, log=log)
        return chain

    def service(self, chain: ServedChain) -> ChainService:
        """Return the service of a chain."""
        assert isinstance(chain.server, ChainService)
        return chain.server

    @property
    def services(self) -> list[ChainService]:
        """The services, the L2s first."""
        return [self.service(chain) for chain in self.all_served]

    def connect(self) -> None:
        """Let features link all chains that are served."""
        for feature in self.features:
            feature.connected(self.all_served)

    def hooks(self, opened: OpenChain) -> ServiceHooks:
        """Return what the pages of one chain say of the whole node; of several chains each is named."""
        rollup = rollup_of(opened)

        def health() -> dict[str, Any]:
            chains = self.chain_problems()
            return {
                **({} if rollup is None else rollup.report()),
                **({"chains": chains} if chains else {}),
            }

        def metrics() -> Iterator[Sample]:
            if rollup is not None:
                from entresol.node.settlement.rollup_metrics import rollup_metrics  # noqa: PLC0415

                yield from rollup_metrics(rollup)
            yield from problem_samples(self.chain_problems())

        return ServiceHooks(health=health, degraded=self.problem, metrics=metrics)

    # Parts

    def add(self, *parts: Part | None, chain: str = "") -> None:
        """Add parts, which start after those before them; None is a part that this node does not have.

        `chain` is the name of the one of several chains that they belong to.
        """
        added = [part for part in parts if part is not None]
        self._parts += added
        if chain:
            self._of_chains.setdefault(chain, []).extend(added)

    def add_phase(self, phase: Phase) -> None:
        """Add the parts of features that start in a phase."""
        for feature in self.features:
            self.add(*(part for at, part in feature.parts() if at is phase))

    def name(self, chain: str, *parts: Part | None) -> None:
        """Name the chain that parts belong to, which was the only one when they were added."""
        self._of_chains.setdefault(chain, [part for part in parts if part is not None])

    def problem(self) -> str | None:
        """Return what fails and is tried again, of all parts, with the name of its chain if there are several."""
        named = (
            f"chain {name}: {problem}"
            for name, problem in self.chain_problems().items()
            if problem is not None
        )
        return next(named, None) or first_problem(self._parts)

    def chain_problems(self) -> dict[str, str | None]:
        """Return what fails and is tried again of each of several chains, by their names."""
        return {name: first_problem(parts) for name, parts in self._of_chains.items()}

    def info_rows(self) -> dict[str, str]:
        """Return what features have to say in the banner."""
        return {title: text for feature in self.features for title, text in feature.info().items()}

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts, in the order in which they start."""
        return tuple(self._parts)
