"""An L1 alone, for `entresol anvil`: one chain, and no rollup."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.dev.control import DevControl
from entresol.node.api.dialect import Dialect
from entresol.node.builder import NodeBuilder
from entresol.node.chain_service import ServiceHooks
from entresol.node.dev_features import init_signers, open_keyring, requested_accounts
from entresol.node.explorer.explorer_page import ExplorerPage
from entresol.node.forks import check_forks
from entresol.node.opening.layer_one_alone import open_layer_one_alone
from entresol.node.parts.part import Closing
from entresol.node.startup.info import NodeInfo
from entresol.node.state_files import StateDumper, load_at_start
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node import Node
    from entresol.terminal.log import NodeLog


async def layer_one(config: NodeConfig, log: NodeLog | None = None) -> Node:
    """Return a node that serves a development L1 as anvil does; the sections `chain` and `evm` describe it."""
    check_forks(config)
    accounts = requested_accounts(config.chain)
    keyring = open_keyring(config, (*accounts, *init_signers(config.chain.init)))
    with NodeBuilder(config, log) as builder:
        chain = builder.opened(open_layer_one_alone(config))
        control = builder.opened(DevControl(chain))
        load_at_start(config, control.states, chain, None)
        dumper = StateDumper(config, control.states, chain, None)
        sequencer = LocalSequencer(chain)
        dialect = Dialect.anvil(config.api)
        api = builder.api(chain, sequencer, keyring=keyring, control=control, dialect=dialect)
        service = builder.serve(
            api,
            hooks=ServiceHooks(degraded=builder.problem),
            explorer=ExplorerPage(layer=1) if config.api.explorer else None,
        )
        builder.add(Closing(dumper.dump_last), sequencer, service, dumper)

        def info() -> NodeInfo:
            found = NodeInfo.of(chain, config, keyring, service.address, None)
            return msgspec.structs.replace(
                found,
                accounts=accounts,
                # Anvil shows that of the genesis.
                base_fee=config.l1_blocks.l1_base_fee,
                is_layer_one=True,
            )

        return builder.build([service], info=info)
