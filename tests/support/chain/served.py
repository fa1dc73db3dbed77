"""One chain with its RPC methods, those of all features included, without a server."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from entresol.chain.chain import Chain
from entresol.chain.fees import FeeModel
from entresol.chain.keyring import Keyring
from entresol.features.fork.feature import RemotePast
from entresol.features.fork.opening.open_fork import OpenFork
from entresol.node.chain_plan import ChainPlan, OpenChain
from entresol.node.config.api import ApiConfig, LimitsConfig
from entresol.node.config.schema import L1Config, NodeConfig
from entresol.node.feature import Feature, NodePlan, ServedChain
from entresol.node.loading import load_features
from entresol.node.node_parts import NodeParts
from entresol.sequencer.sequencer import InlineSequencer, Sequencer


class GivenPast(Feature):
    """The past of a chain on a remote that a test has."""

    name = "past"

    def __init__(self, node: NodePlan, past: RemotePast) -> None:
        super().__init__(node)
        self._past = past

    def chain(self, plan: ChainPlan) -> RemotePast:  # noqa: ARG002 - there is one chain
        return self._past


class ServedAlone(ServedChain):
    """A chain of a node that has no other; whoever has it closes it."""

    def __init__(
        self, node: NodeParts, opened: OpenChain, *, wake: Callable[[], None] | None
    ) -> None:
        super().__init__(opened, node.features_of(opened.plan), wake=wake)
        self._node = node

    def close(self) -> None:
        super().close()
        with self._node:
            pass


def served_chain(
    chain: Chain,
    sequencer: Sequencer | None = None,
    *,
    fees: FeeModel | None = None,
    rollup: Any = None,
    keyring: Keyring | None = None,
    config: ApiConfig | None = None,
    limits: LimitsConfig | None = None,
    dev_methods: bool = True,
    wake: Callable[[], None] | None = None,
    remote: Any = None,
    state_at: Any = None,
    **plan: Any,
) -> ServedChain:
    """Serve a chain; with `fees` it is an L2, and a fork has its past on a `remote`."""
    settings = NodeConfig(
        api=config or ApiConfig(), limits=limits or LimitsConfig(), l1=L1Config(l1=False)
    )
    planned = ChainPlan(
        config=settings,
        layer=1 if fees is None else 2,
        is_open=dev_methods,
        keyring=keyring or Keyring(),
        fork=None if remote is None else OpenFork(remote),
        **plan,
    )
    past = [] if remote is None else [partial(GivenPast, past=RemotePast(remote, state_at))]
    node = NodeParts(settings, None, [*past, *load_features()])
    node.plan(planned)
    opened = OpenChain(planned, chain, sequencer or InlineSequencer(chain), fees, rollup)
    node.join(opened)
    node.chains_opened()
    return ServedAlone(node, opened, wake=wake)
