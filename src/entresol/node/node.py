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
    from entresol.node.feature import Feature
    from entresol.node.node_parts import NodeParts
    from entresol.node.parts.part import Part
    from entresol.node.settlement.rollup import Rollup
    from entresol.node.startup.info import NodeInfo
    from entresol.server.handler import Handler


class Node:
    """A node of any kind; what it consists of, an assembly says.

    Remembers: nothing of its own. Persists: nothing; the chains do. Assumes: one event loop, whose thread alone
    changes the chains. Fails: to start, with the error that says why; nothing is left open then.
    """

    def __init__(self, made: NodeParts, info: Callable[[], NodeInfo]) -> None:
        """Take what a node is made of, whose parts are closed from now on once all of them have stopped."""
        self._made = made
        self.parts: Sequence[Part] = made.parts
        self.info = info
        """Returns what the banner and `--config-out` show."""
        self.replaced: Listeners[[]] = Listeners()
        """Called when it consists of other chains."""
        self._stack = contextlib.AsyncExitStack()
        self._stack.callback(made.taken().close)
        for part in self.parts:
            self._stack.push_async_callback(part.stop)

    @property
    def services(self) -> Sequence[ChainService]:
        """The services, the L2s first."""
        return self._made.services

    @property
    def layer_twos(self) -> Sequence[ChainService]:
        """The services of the L2s; that of the only chain if there is one."""
        return [self._made.service(chain) for chain in self._made.served]

    @property
    def layer_one(self) -> ChainService | None:
        """The service of the development L1, if there is one beside the L2s."""
        chain = self._made.served_l1
        return None if chain is None else self._made.service(chain)

    @property
    def rollups(self) -> Sequence[Rollup]:
        """The rollups that settle the L2s, one each."""
        return self._made.rollups

    @property
    def features(self) -> Sequence[Feature]:
        """The features of the node."""
        return self._made.features

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
        self._made, self.info = other._made, other.info
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
