"""An HTTP proxy before a node that is slow, breaks, lies, and counts what is asked of it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiohttp import web

from tests.support.fork.faults import Fault, Reorganisation, error_of
from tests.support.polling import PATIENCE_SECONDS

MAX_BODY: Final = 256 << 20

Node: TypeAlias = Callable[[bytes], Awaitable[bytes]]
Lie: TypeAlias = Callable[[list[Any], Any], Any]

_STATE_METHODS: Final = {
    "eth_getBalance": 1,
    "eth_getTransactionCount": 1,
    "eth_getCode": 1,
    "eth_getStorageAt": 2,
    "eth_getProof": 2,
    "eth_call": 1,
    "eth_getAccount": 1,
}
"""Which parameter of a method is the block whose state it reads."""


class FaultyProxy:
    """Passes JSON-RPC over HTTP on to a node, on an event loop and a thread of its own.

    Switches are plain attributes; a test sets them from any thread, and they hold for requests that arrive from then on.
    """

    def __init__(self, node: str | Node) -> None:
        self.url = ""
        self.methods: Counter[str] = Counter()
        self.posts = 0
        self.batches: list[int] = []
        self.headers: list[Mapping[str, str]] = []
        self.bodies: list[Any] = []

        self.latency = 0.0
        self.faults: deque[Fault | None] = deque()
        """Faults of the next HTTP requests, one each; None lets one pass."""
        self.fault: Fault | None = None
        """The fault of every HTTP request once `faults` is empty."""
        self.errors: dict[str, dict[str, Any]] = {}
        """The errors of methods that are rejected, by method; see `error_of`."""
        self.lies: dict[str, Lie] = {}
        self.oldest_state: int | None = None
        """The first block whose state is here; a request for an earlier one gets "missing trie node"."""
        self.oldest_block: int | None = None
        """The first block that can be had by its number; one before it gets the error of a node that has pruned it."""
        self.reorganisation: Reorganisation | None = None
        """A block that has another hash now; what names the old one is not found."""
        self.max_batch: int | None = None
        """The largest batch that is accepted; a longer one gets -32600, or status 413 with `is_413`."""
        self.is_413 = False
        self.rejects_block_objects = False
        self.rejects_block_hashes = False
        self.wrong_ids = False
        self.drop_members = 0
        self.shuffles = False
        """Whether responses of a batch come in reverse order, which is legal."""

        self.node = node

        self._listening: tuple[socket.socket, web.SockSite] | None = None
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self._loop = asyncio.new_event_loop()
        self._in_flight = 0
        self.most_in_flight = 0

    def not_served(self, *methods: str) -> None:
        for method in methods:
            self.errors[method] = error_of(
                -32601, f"the method {method} does not exist/is not available"
            )

    def forget(self) -> None:
        self.methods.clear()
        self.posts = 0
        self.batches.clear()
        self.headers.clear()
        self.bodies.clear()

    async def start(self) -> Callable[[], Awaitable[None]]:
        """Listen on a free port; returns how to stop."""
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_post("/{path:.*}", self._serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        self._runner = runner
        await self._listen(0)
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._session = aiohttp.ClientSession()

        async def stop() -> None:
            await self._stop_listening()
            await runner.cleanup()
            if self._session is not None:
                await self._session.close()

        return stop

    def listen(self) -> None:
        self._on_loop(self._listen(urlsplit(self.url).port or 0))

    def stop_listening(self) -> None:
        """Reject connections; those that are there stay."""
        self._on_loop(self._stop_listening())

    def _on_loop(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_SECONDS)

    async def _listen(self, port: int) -> None:
        if self._listening is None:
            assert self._runner is not None
            # Of connections that end here the port is free at once.
            listening = socket.create_server(("127.0.0.1", port))
            self._listening = listening, web.SockSite(self._runner, listening)
            await self._listening[1].start()

    async def _stop_listening(self) -> None:
        if self._listening is not None:
            (listening, site), self._listening = self._listening, None
            # What was accepted a moment before fails in a closed server, and asyncio leaves its socket open.
            self._loop.remove_reader(listening)
            await asyncio.sleep(0)
            await site.stop()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            return await self._respond(request)
        finally:
            self._in_flight -= 1

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        self._count(request, body)
        fault = self.faults.popleft() if self.faults else self.fault
        if self.latency:
            await asyncio.sleep(self.latency)
        if fault is not None and (response := await fault(request)) is not None:
            return response
        if isinstance(body, list) and self.max_batch is not None and len(body) > self.max_batch:
            return self._too_large(len(body))
        responses = await self._responses(body if isinstance(body, list) else [body])
        if self.wrong_ids:
            responses = [it | {"id": 1_000_000 + n} for n, it in enumerate(responses)]
        if not isinstance(body, list):
            return web.json_response(responses[0], dumps=_dumps)
        responses = responses[self.drop_members :]
        return web.json_response(responses[::-1] if self.shuffles else responses, dumps=_dumps)

    def _count(self, request: web.Request, body: Any) -> None:
        self.posts += 1
        self.headers.append(dict(request.headers))
        self.bodies.append(body)
        if isinstance(body, list):
            self.batches.append(len(body))
        for member in body if isinstance(body, list) else [body]:
            self.methods[member["method"]] += 1

    def _too_large(self, size: int) -> web.Response:
        if self.is_413:
            return web.Response(status=413, text="Request Entity Too Large")
        problem = error_of(-32600, f"batch too large: {size} calls, at most {self.max_batch}")
        return web.json_response({"jsonrpc": "2.0", "id": None, "error": problem})

    async def _responses(self, members: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the responses to the members of a batch, in order; only those without an error of ours are passed on."""
        rejected = {n: error for n, it in enumerate(members) if (error := await self._error(it))}
        passed = [
            {"jsonrpc": "2.0", "id": n, "method": it["method"], "params": it.get("params", [])}
            for n, it in enumerate(members)
            if n not in rejected
        ]
        found = {entry["id"]: entry for entry in await self._ask(passed)} if passed else {}
        responses = []
        for n, member in enumerate(members):
            answer = {"error": rejected[n]} if n in rejected else self._lied(member, found[n])
            responses.append({"jsonrpc": "2.0"} | answer | {"id": member["id"]})
        return responses

    def _lied(self, member: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        method, params = member["method"], member.get("params", [])
        if "result" not in answer:
            return answer
        result = answer["result"]
        if self.reorganisation is not None:
            result = self.reorganisation.result(method, params, result)
        if method in self.lies:
            result = self.lies[method](params, result)
        return answer | {"result": result}

    async def _error(self, member: dict[str, Any]) -> dict[str, Any] | None:
        method, params = member["method"], member.get("params", [])
        if method in self.errors:
            return self.errors[method]
        oldest = self.oldest_block
        if oldest is not None and method == "eth_getBlockByNumber" and params[0][:2] == "0x":
            return (
                error_of(4444, "pruned history unavailable")
                if int(params[0], 16) < oldest
                else None
            )
        position = _STATE_METHODS.get(method)
        if position is None or position >= len(params):
            return None
        block = params[position]
        if self.rejects_block_objects and isinstance(block, dict):
            return error_of(-32602, "invalid argument: cannot unmarshal object into a block number")
        digest = block.get("blockHash") if isinstance(block, dict) else block
        is_hash = isinstance(digest, str) and len(digest) == 66
        if self.rejects_block_hashes and is_hash:
            return error_of(-32602, "invalid argument: hex number > 64 bits")
        if self.reorganisation is not None and digest == self.reorganisation.old:
            return error_of(-32000, "header for hash not found")
        oldest = self.oldest_state
        if oldest is not None and await self._number_of(digest) < oldest:
            return error_of(-32000, "missing trie node 0123 (path ) state is not available")
        return None

    async def _number_of(self, block: Any) -> int:
        if not isinstance(block, str) or not block.startswith("0x"):
            return 1 << 64
        if len(block) < 66:
            return int(block, 16)
        request = {"jsonrpc": "2.0", "id": 0, "method": "eth_getBlockByHash"}
        (answer,) = await self._ask([request | {"params": [block, False]}])
        return int(answer["result"]["number"], 16) if answer.get("result") else 1 << 64

    async def _ask(self, members: list[dict[str, Any]]) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = msgspec.json.decode(
            await self._exchange(msgspec.json.encode(members))
        )
        return answers

    async def _exchange(self, body: bytes) -> bytes:
        if not isinstance(self.node, str):
            return await self.node(body)
        assert self._session is not None
        headers = {"Content-Type": "application/json"}
        async with self._session.post(self.node, data=body, headers=headers) as response:
            return await response.read()

    def run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        stop = self._loop.run_until_complete(self.start())
        started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(stop())
        self._loop.run_until_complete(_cancelled(asyncio.all_tasks(self._loop)))
        self._loop.close()

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)


@contextlib.contextmanager
def faulty_proxy(node: str | Node) -> Iterator[FaultyProxy]:
    """Serve before a node, given by its URL or as a function, until the end of the context."""
    proxy = FaultyProxy(node)
    started = threading.Event()
    thread = threading.Thread(target=proxy.run, args=(started,), name="proxy")
    thread.start()
    try:
        assert started.wait(PATIENCE_SECONDS)
        yield proxy
    finally:
        proxy.end()
        thread.join(PATIENCE_SECONDS)


async def _cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """End requests that never get a response."""
    left = [task for task in tasks if task is not asyncio.current_task()]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _dumps(value: Any) -> str:
    return msgspec.json.encode(value).decode()
