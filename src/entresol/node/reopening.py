"""Replace the chains of a running node by others, at the same ports."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import structs

from entresol.errors import ControlRejected
from entresol.node.layer_two_configs import layer_two_configs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from entresol.chain.chain_use import ChainUse
    from entresol.node.chain_service import ChainService
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node import Node

IDLE_SECONDS: Final = 2.0
"""How long what runs on the chains so far may go on before they are closed all the same, and it fails."""


class Reopening:
    """Opens a node anew with other settings, and lets it continue where the one so far serves.

    Remembers: the node, its settings, and what is being closed. Persists: nothing; a chain on disk stays as it is, so
    it is rejected. Assumes: the event loop of the node. Fails: as opening does; then the node is as it was.
    """

    def __init__(
        self, config: NodeConfig, open_node: Callable[[NodeConfig, Reopening], Awaitable[Node]]
    ) -> None:
        self.start = config
        """The settings that the node was started with."""
        self.config = config
        self._open = open_node
        self._node: Node | None = None
        self._lock = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()

    def attach(self, node: Node) -> None:
        """Take the node that was opened; one that replaces it is not attached."""
        self._node = self._node or node

    @property
    def is_open(self) -> bool:
        """Whether there is a node, which another one may replace."""
        return self._node is not None

    @property
    def is_of_one_chain(self) -> bool:
        """Whether the node has one L2, which settles on no L1 elsewhere: only such a one can become another."""
        return (
            not self.start.chains
            and len(layer_two_configs(self.start)) == 1
            and self.start.l1.l1_url is None
        )

    @property
    def ports(self) -> frozenset[int]:
        """The ports that the node serves at."""
        assert self._node is not None
        ports = ((service.port, service.extra_port) for service in self._node.services)
        return frozenset(port for pair in ports for port in pair if port is not None)

    async def reopen(self, config: NodeConfig) -> None:
        """Replace the chains by those of other settings; what runs on the chains so far ends first, or fails."""
        node = self._node
        assert node is not None
        if config.chain.data_dir is not None:
            raise ControlRejected(
                f"the chain in {config.chain.data_dir} stays on the block that it was made of: start with another --data-dir"
            )
        if len(node.layer_twos) > len(layer_two_configs(self.start)):
            raise ControlRejected("the node has chains that were added, and stays what it is")
        async with self._lock:
            uses = [service.chain.use for service in node.services]
            opened = await self._open(config, self)
            try:
                for service, predecessor in zip(opened.services, node.services, strict=True):
                    service.continue_at(predecessor)
                await opened.start()
            except BaseException:
                await opened.stop()
                raise
            for service, predecessor in zip(opened.services, node.services, strict=True):
                keep_controls(predecessor, service)
                service.take_over()
            for feature, former in zip(opened.features, node.features, strict=True):
                feature.continues(former)
            before = node.become(opened)
            self.config = config
        closing = asyncio.get_running_loop().create_task(_close(before, uses))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Return once all chains before are closed."""
        await asyncio.gather(*self._closing, return_exceptions=True)


def keep_controls(before: ChainService, after: ChainService) -> None:
    """Have a service go on with what clients have set of one that it replaces, as anvil does.

    That is when blocks are sealed, how far apart they are, who receives their fees, and who is impersonated. The gas
    limit of a fork is that of its anchor; one that ended keeps what was set.
    """
    old, new = before.chain, after.chain
    new.schedule.restore(old.schedule.state, time.monotonic())
    if old.clock.state.interval is not None:
        new.clock.set_interval(old.clock.state.interval)
    new.configure(
        structs.replace(
            new.settings,
            beneficiary=old.settings.beneficiary,
            gas_limit=old.settings.gas_limit if new.ledger.anchor is None else None,
        )
    )
    after.api.keyring.impersonation = before.api.keyring.impersonation


async def _close(before: contextlib.AsyncExitStack, uses: Sequence[ChainUse]) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(IDLE_SECONDS):
            for use in uses:
                while not use.is_idle:
                    ended = asyncio.Event()
                    use.when_idle(partial(loop.call_soon_threadsafe, ended.set))
                    await ended.wait()
    await before.aclose()
    # They refer to each other, and have memory that the garbage collector does not see: it would let many pile up.
    gc.collect()
