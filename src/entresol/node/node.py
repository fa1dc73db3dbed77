"""A running node: one chain, its methods and the server, from start to stop."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Final

from entresol.node.assembly import Api, open_chain, open_keyring
from entresol.rpc.server.connection import Page
from entresol.rpc.server.listener import Server

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.node.config import NodeConfig

TICK_SECONDS: Final = 0.02

JSON: Final = "application/json; charset=utf-8"
PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"


class Node:
    """A node that serves one chain.

    Remembers: nothing of its own. Persists: the chain, if it has a directory. Assumes: one event loop,
    whose thread alone changes the chain. Fails: to start, with the error that says why; nothing is
    left open then.
    """

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self.chain: Chain = open_chain(config.chain)
        self._pump_is_due = False
        self.keyring = open_keyring(config)
        self._api = Api(self.chain, self._wake, keyring=self.keyring, config=config.api)
        self._server = Server(self._api.dispatcher.handle, config.server, self._pages())
        self._ticking: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where the node listens."""
        host = self._config.server.host
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self._server.port}"

    async def start(self) -> None:
        """Listen, and seal blocks when they are due."""
        try:
            await self._server.start()
        except BaseException:
            self._close()
            raise
        self._ticking = asyncio.create_task(self._tick())

    async def stop(self) -> None:
        """Let answers under way finish, and close everything."""
        if self._ticking is not None:
            self._ticking.cancel()
        await self._server.stop()
        self._close()

    def _close(self) -> None:
        self._api.close()
        self.chain.close()

    async def _tick(self) -> None:
        while True:
            self.chain.tick(time.monotonic())
            await asyncio.sleep(TICK_SECONDS)

    def _wake(self) -> None:
        """Have subscribers told soon, once for everything that happens until then."""
        if not self._pump_is_due:
            self._pump_is_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_is_due = False
        self._api.subscriptions.pump()

    def _pages(self) -> dict[str, Page]:
        dispatcher = self._api.dispatcher
        return {
            "/health": lambda: (200, JSON, b'{"status":"ready"}'),
            "/metrics": lambda: (200, PROMETHEUS, dispatcher.metrics.render().encode()),
            "/openrpc.json": lambda: (200, JSON, json.dumps(dispatcher.openrpc()).encode()),
        }
