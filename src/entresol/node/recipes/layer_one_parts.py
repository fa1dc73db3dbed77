"""The parts of an L1 alone, on its fork if it is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.features.dev.control import DevControl
from entresol.features.dev.settings import DevConfig
from entresol.features.dev.state_dumper import StateDumper, load_at_start
from entresol.features.explorer.explorer_page import ExplorerPage
from entresol.features.explorer.settings import ExplorerConfig
from entresol.features.fork.fork_info import ForkInfo
from entresol.features.fork.opening.fork_control import LayerForks
from entresol.node.api.dialect import Dialect
from entresol.node.builder import NodeBuilder
from entresol.node.chain_service import ServiceHooks
from entresol.node.dev_features import init_signers, open_keyring, requested_accounts
from entresol.node.opening.layer_one_alone import open_layer_one_alone
from entresol.node.parts.part import Closing
from entresol.node.startup.info import NodeInfo
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from entresol.features.fork.opening.open_forks import OpenForks
    from entresol.node.node import Node
    from entresol.node.reopening import Reopening
    from entresol.terminal.log import NodeLog


def build_layer_one(forks: OpenForks, reopening: Reopening, log: NodeLog | None) -> Node:
    """Return the node that serves the chain of the settings that the forks have left."""
    config = forks.config
    with NodeBuilder(config, log) as builder:
        builder.opened(forks)
        accounts = requested_accounts(config.chain)
        keyring = open_keyring(config, (*accounts, *init_signers(config.chain.init)))
        chain = builder.opened(open_layer_one_alone(config, forks.l2))
        control = builder.opened(DevControl(chain, settings=config.of(DevConfig)))
        load_at_start(config, control.states, chain, None)
        dumper = StateDumper(config, control.states, chain, None)
        sequencer = LocalSequencer(chain)
        dialect = Dialect.anvil(config.api)
        api = builder.api(
            chain,
            sequencer,
            keyring=keyring,
            control=control,
            dialect=dialect,
            forks=LayerForks(reopening, "l2", chain, forks.l2),
            remote=None if forks.l2 is None else forks.l2.remote,
        )
        service = builder.serve(
            api,
            hooks=ServiceHooks(
                degraded=builder.problem,
                health=forks.health,
                metrics=forks.metrics,
                forks=forks.page,
            ),
            explorer=ExplorerPage(layer=1) if config.of(ExplorerConfig).explorer else None,
        )
        builder.add(Closing(dumper.dump_last), sequencer, service, dumper)
        # Stopped first: whatever waits for the remote fails then.
        builder.add(*forks.parts)

        def info() -> NodeInfo:
            found = NodeInfo.of(chain, config, keyring, service.address, None)
            return msgspec.structs.replace(
                found,
                accounts=accounts,
                # Anvil shows that of the genesis.
                base_fee=chain.genesis.base_fee if forks.l2 else config.l1_blocks.l1_base_fee,
                is_layer_one=True,
                forked=ForkInfo.of(forks.l2),
            )

        return builder.build([service], info=info)
