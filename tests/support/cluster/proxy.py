"""A TCP proxy before PostgreSQL that can hang, cut and delay."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Literal
from urllib.parse import parse_qs, urlsplit

Mode = Literal["pass", "hang", "delay"]

DELAY_SECONDS = 0.15
MAX_DELAYED = 1_000
"""How many reads may be under way in one direction."""


class PostgresProxy:
    """Passes connections on to a Unix socket, on an event loop and a thread of its own.

    Delayed bytes are under way at the same time, as on a long line: what is sent together arrives together.
    """

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._mode: Mode = "pass"
        self._changed = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self.port = 0

    def set_mode(self, mode: Mode) -> None:
        self._loop.call_soon_threadsafe(self._set_mode, mode)

    def cut(self) -> None:
        self._loop.call_soon_threadsafe(self._cut)

    def _set_mode(self, mode: Mode) -> None:
        self._mode = mode
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_unix_connection(self._socket)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
        self._writers -= {writer, back}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(MAX_DELAYED)
        delivery = asyncio.create_task(self._deliver(line, writer))
        data = b" "
        while data:
            try:
                data = await reader.read(1 << 16)
            except OSError:
                data = b""
            delay = DELAY_SECONDS if self._mode == "delay" else 0.0
            await line.put((self._loop.time() + delay, data))
        await delivery

    async def _deliver(
        self, line: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter
    ) -> None:
        is_open = True
        while True:
            due, data = await line.get()
            if not data:
                break
            if not is_open:
                continue
            await asyncio.sleep(due - self._loop.time())
            while self._mode == "hang":
                await self._changed.wait()
            try:
                writer.write(data)
                await writer.drain()
            except OSError:
                is_open = False
        writer.close()

    @contextlib.contextmanager
    def running(self) -> Iterator[PostgresProxy]:
        ready = threading.Event()

        async def serve() -> None:
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            async with server:
                await self._stopped.wait()
            self._set_mode("pass")
            self._cut()
            serving = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*serving, return_exceptions=True)

        thread = threading.Thread(target=self._run, args=(serve(),), daemon=True)
        thread.start()
        ready.wait()
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stopped.set)
            thread.join(10)

    def _run(self, serving: Coroutine[None, None, None]) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(serving)


def socket_of(url: str) -> str:
    return f"{parse_qs(urlsplit(url).query)['host'][0]}/.s.PGSQL.5432"
