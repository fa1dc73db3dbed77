"""A running L1 alone, for `entresol anvil`: one chain, and no rollup."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Self

import msgspec

from entresol.dev.control import DevControl
from entresol.node.api.api import Api
from entresol.node.api.dialect import Dialect
from entresol.node.chain_service import ChainService
from entresol.node.chains import open_layer_one_alone
from entresol.node.dev_features import init_signers, open_keyring, requested_accounts
from entresol.node.explorer.explorer_page import ExplorerPage
from entresol.node.startup.info import NodeInfo
from entresol.node.state_files import StateDumper, load_at_start
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.node.config.schema import NodeConfig
    from entresol.node.log.log import NodeLog


class LayerOneNode:
    """A node that serves a development L1 as anvil does; the sections `chain` and `evm` describe it.

    Remembers: nothing of its own. Persists: the chain in state files, if flags name them. Assumes: one event loop,
    whose thread alone changes the chain. Fails: to start, with the error that says why.
    """

    def __init__(self, config: NodeConfig, log: NodeLog | None = None) -> None:
        self._config = config
        self._log = log
        self._accounts = requested_accounts(config.chain)
        signers = init_signers(config.chain.init)
        self._keyring = open_keyring(config, (*self._accounts, *signers))
        chain = open_layer_one_alone(config)
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(chain.close)
            self._control = control = DevControl(chain)
            cleanup.callback(control.close)
            load_at_start(config, control.states, chain, None)
            self._dumper = StateDumper(config, control.states, chain, None)
            self._serve(chain, control)
            cleanup.pop_all()

    def _serve(self, chain: Chain, control: DevControl) -> None:
        config, log = self._config, self._log
        sequencer = LocalSequencer(chain)

        def make_api(wake: Callable[[], None]) -> Api:
            return Api(
                chain,
                sequencer,
                wake,
                keyring=self._keyring,
                config=config.api,
                limits=config.limits,
                control=control,
                dialect=Dialect.anvil(config.api),
            )

        chain_log = None if log is None else log.for_chain()
        explorer = ExplorerPage(layer=1) if config.api.explorer else None
        self.service = ChainService(
            *(chain, make_api, config.server),
            log=chain_log,
            explorer=explorer,
            sequencer=sequencer,
        )

    @classmethod
    async def open(cls, config: NodeConfig, log: NodeLog | None = None) -> Self:
        """Return a node."""
        return cls(config, log)

    async def start(self) -> None:
        """Start the server."""
        try:
            await self.service.start()
        except BaseException:
            await self.stop()
            raise
        self._dumper.start()

    async def stop(self) -> None:
        """Let requests in progress finish, and close everything."""
        await self.service.stop()
        await self._dumper.stop()
        if self._log is not None:
            self._log.unfollow()
        self.service.close()
        self._control.close()

    def info(self) -> NodeInfo:
        """Return what the banner and `--config-out` show."""
        service = self.service
        info = NodeInfo.of(service.chain, self._config, self._keyring, service.address, None)
        return msgspec.structs.replace(
            info,
            accounts=self._accounts,
            # Anvil shows that of the genesis.
            base_fee=self._config.l1_blocks.l1_base_fee,
            is_layer_one=True,
        )
