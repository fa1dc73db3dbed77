"""A running node: parts that are started in order and stopped in reverse."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from entresol.listeners import Listeners

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.keyring import Keyring
    from entresol.node.chain_service import ChainService
    from entresol.node.parts.part import Part
    from entresol.node.settlement.rollup import Rollup
    from entresol.node.startup.info import NodeInfo
    from entresol.server.handler import Handler


class Node:
    """A node of any kind; what it consists of, `recipes/` says.

    Remembers: nothing of its own. Persists: nothing; the chains do. Assumes: one event loop, whose thread alone
    changes the chains. Fails: to start, with the error that says why; nothing is left open then.
    """

    def __init__(
        self,
        opened: contextlib.ExitStack,
        parts: Sequence[Part],
        services: Sequence[ChainService],
        info: Callable[[], NodeInfo],
        rollups: Sequence[Rollup] = (),
        layer_one: ChainService | None = None,
    ) -> None:
        """Take parts, the services among them, and `opened`, which is closed once all parts have stopped."""
        self.parts = parts
        self.layer_twos = services
        """The services of the L2s; that of the only chain if there is one."""
        self.layer_one = layer_one
        """The service of the development L1, if there is one beside the L2s."""
        self.info = info
        """Returns what the banner and `--config-out` show."""
        self.rollups = rollups
        """The rollups that settle the L2s, one each."""
        self.replaced: Listeners[[]] = Listeners()
        """Called when it consists of other chains."""
        self._stack = contextlib.AsyncExitStack()
        self._stack.callback(opened.close)
        for part in parts:
            self._stack.push_async_callback(part.stop)

    @property
    def services(self) -> Sequence[ChainService]:
        """The services, the L2s first."""
        return self.layer_twos if self.layer_one is None else (*self.layer_twos, self.layer_one)

    @property
    def layer_two(self) -> ChainService:
        """The service of the first L2; that of the only chain if there is one."""
        return self.layer_twos[0]

    @property
    def rollup(self) -> Rollup | None:
        """The rollup that settles the first L2; None if nothing does."""
        return self.rollups[0] if self.rollups else None

    @property
    def chain(self) -> Chain:
        """The chain that the node is about."""
        return self.layer_two.chain

    @property
    def keyring(self) -> Keyring:
        """The accounts of that chain that the node signs for."""
        return self.layer_two.api.keyring

    @property
    def handler(self) -> Handler:
        """The handler of requests to that chain."""
        return self.layer_two.handler

    @property
    def address(self) -> str:
        """The host and port at which that chain is served."""
        return self.layer_two.address

    def become(self, other: Node) -> contextlib.AsyncExitStack:
        """Consist of the parts of another node, which run; return what stops and closes those so far."""
        stack, self._stack = self._stack, other._stack
        self.parts = other.parts
        self.layer_twos, self.layer_one = other.layer_twos, other.layer_one
        self.info, self.rollups = other.info, other.rollups
        self.replaced.notify()
        return stack

    async def start(self) -> None:
        """Start all parts; if one fails, all are stopped and everything is closed."""
        try:
            for part in self.parts:
                await part.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Let requests in progress finish, and close everything; one part that fails to stop leaves the others none."""
        await self._stack.aclose()
