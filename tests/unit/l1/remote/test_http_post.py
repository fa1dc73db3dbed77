from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from entresol.l1.remote import http_post
from entresol.l1.remote.http_post import BodyTooLong, HttpPost, NoResponse, PostResponse
from entresol.l1.remote.post_connection import MAX_HEAD
from tests.support.polling import PATIENCE_SECONDS

OK = b"HTTP/1.1 200 OK\r\n"
HELLO = OK + b"Content-Length: 5\r\n\r\nhello"
LIMIT = 1_000


class ScriptedServer:
    """Sends one response after the other, whatever is asked, and remembers the requests."""

    def __init__(self, *responses: bytes, hangs_up: bool = False) -> None:
        self.port = 0
        self.requests: list[bytes] = []
        self.connections = 0
        self._responses = iter(responses)
        self._hangs_up = hangs_up

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(int(head.rpartition(b"Content-Length: ")[2]))
                self.requests.append(head + body)
                writer.write(next(self._responses))
                if self._hangs_up:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(server: ScriptedServer) -> AsyncIterator[ScriptedServer]:
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()


def posted(
    server: ScriptedServer,
    work: Callable[[HttpPost], Awaitable[PostResponse]] | None = None,
    *,
    path: str = "",
    headers: tuple[tuple[str, str], ...] = (),
    timeout: float = PATIENCE_SECONDS,
    follows_redirects: bool = True,
) -> PostResponse:
    """Return the response to one body, or that of other work."""

    async def run() -> PostResponse:
        async with serving(server):
            http = HttpPost(
                server.url + path,
                timeout=timeout,
                headers=headers,
                follows_redirects=follows_redirects,
            )
            try:
                return await (http.post(b"{}", LIMIT) if work is None else work(http))
            finally:
                await http.close()

    return asyncio.run(run())


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(it), it) for it in (*pieces, b""))


@pytest.mark.parametrize(
    "response",
    [
        HELLO,
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"he", b"llo"),
        OK
        + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        + chunked(gzip.compress(b"hello")),
        OK + b"Content-Encoding: deflate\r\nContent-Length: 13\r\n\r\n" + zlib.compress(b"hello"),
        b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + HELLO,
        b"HTTP/1.0 200 OK\r\n\r\nhello",
    ],
    ids=["length", "chunks", "gzip", "deflate", "hints", "until it hangs up"],
)
def test_a_body_is_read_however_it_comes(response: bytes) -> None:
    server = ScriptedServer(response, hangs_up=True)
    assert posted(server) == PostResponse(200, b"hello")


def test_a_connection_is_used_again() -> None:
    async def twice(http: HttpPost) -> PostResponse:
        await http.post(b"1", LIMIT)
        return await http.post(b"2", LIMIT)

    server = ScriptedServer(HELLO, HELLO)
    posted(server, twice)
    assert (len(server.requests), server.connections) == (2, 1)


def test_a_connection_that_was_idle_for_long_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_post, "MAX_IDLE_SECONDS", -1.0)

    async def twice(http: HttpPost) -> PostResponse:
        await http.post(b"1", LIMIT)
        return await http.post(b"2", LIMIT)

    server = ScriptedServer(HELLO, HELLO)
    posted(server, twice)
    assert server.connections == 2


def test_what_follows_a_response_is_not_the_next_one() -> None:
    async def twice(http: HttpPost) -> PostResponse:
        await http.post(b"1", LIMIT)
        return await http.post(b"2", LIMIT)

    other = OK + b"Content-Length: 3\r\n\r\n"
    server = ScriptedServer(HELLO + other + b"bad", other + b"yes")
    assert posted(server, twice).body == b"yes"
    assert server.connections == 2


def test_requests_at_the_same_time_have_connections_of_their_own() -> None:
    async def both(http: HttpPost) -> PostResponse:
        first, _ = await asyncio.gather(http.post(b"1", LIMIT), http.post(b"2", LIMIT))
        return first

    server = ScriptedServer(HELLO, HELLO)
    assert posted(server, both).body == b"hello"
    assert server.connections == 2


def test_a_request_has_the_headers_the_path_and_the_user_of_its_url() -> None:
    server = ScriptedServer(HELLO)

    async def run() -> None:
        async with serving(server):
            url = f"http://user:s%20cret@127.0.0.1:{server.port}/v2/a key?x=1"
            http = HttpPost(url, timeout=PATIENCE_SECONDS, headers=[("X-Key", "abc")])
            await http.post(b"{}", LIMIT)
            await http.close()

    asyncio.run(run())
    head = server.requests[0].decode()
    assert head.startswith("POST /v2/a%20key?x=1 HTTP/1.1\r\n")
    assert f"\r\nHost: 127.0.0.1:{server.port}\r\n" in head
    assert "\r\nX-Key: abc\r\n" in head
    assert "\r\nAuthorization: Basic dXNlcjpzIGNyZXQ=\r\n" in head
    assert head.endswith("\r\n\r\n{}")


def test_a_header_of_two_lines_is_not_sent() -> None:
    server = ScriptedServer(HELLO)
    with pytest.raises(NoResponse, match="line break"):
        posted(server, headers=(("X-Key", "a\r\nHost: b"),))
    assert server.requests == []


@pytest.mark.parametrize(
    "response",
    [
        OK + b"Content-Length: 1001\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"x" * 600, b"x" * 600),
        OK
        + b"Content-Encoding: gzip\r\nContent-Length: 1033\r\n\r\n"
        + gzip.compress(bytes(1 << 20)),
        OK + b"\r\n" + b"x" * 1_001,
    ],
    ids=["length", "chunks", "bomb", "without a length"],
)
def test_a_body_that_is_too_long_is_an_error(response: bytes) -> None:
    with pytest.raises(BodyTooLong, match="more than 1000 bytes"):
        posted(ScriptedServer(response, hangs_up=True))


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (b"", "hung up"),
        (HELLO[:-1], "hung up"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "does not speak HTTP"),
        (OK + b"X: " + b"y" * MAX_HEAD, "headers have more than"),
        (
            b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            "another protocol",
        ),
        (OK + b"Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx", "not offered"),
        (OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", "not compressed"),
        (
            OK + b"Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n" + gzip.compress(b"")[:10],
            "ends early",
        ),
    ],
    ids=["nothing", "cut", "ssh", "headers", "upgrade", "encoding", "garbage", "cut gzip"],
)
def test_a_response_that_is_none_is_an_error(response: bytes, problem: str) -> None:
    with pytest.raises(NoResponse, match=problem):
        posted(ScriptedServer(response, hangs_up=True))


def test_a_server_that_does_not_respond_is_an_error_after_the_time_out() -> None:
    with pytest.raises(NoResponse, match=r"no response in 0\.05 seconds"):
        posted(ScriptedServer(b""), timeout=0.05)


def test_a_server_that_is_not_there_is_an_error() -> None:
    async def run() -> None:
        async with serving(ScriptedServer()) as server:
            url = server.url
        http = HttpPost(url, timeout=PATIENCE_SECONDS)
        with pytest.raises(NoResponse, match="Connect"):
            await http.post(b"{}", LIMIT)

    asyncio.run(run())


def test_a_redirect_is_followed_by_the_same_request() -> None:
    moved = b"HTTP/1.1 308 Moved\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"
    server = ScriptedServer(moved, HELLO)
    assert posted(server, headers=(("X-Key", "abc"),)).body == b"hello"
    assert server.requests[1].startswith(b"POST /other HTTP/1.1\r\n")
    assert b"X-Key: abc" in server.requests[1]


def test_headers_do_not_go_to_another_host_by_a_redirect() -> None:
    async def run() -> bytes:
        async with serving(ScriptedServer(HELLO)) as other:
            place = f"Location: {other.url}\r\n".encode()
            moved = b"HTTP/1.1 307 Moved\r\n%bContent-Length: 0\r\n\r\n" % place
            async with serving(ScriptedServer(moved)) as server:
                http = HttpPost(server.url, timeout=PATIENCE_SECONDS, headers=[("X-Key", "abc")])
                await http.post(b"{}", LIMIT)
                await http.close()
                return other.requests[0]

    assert b"X-Key" not in asyncio.run(run())


def test_a_redirect_without_end_is_an_error() -> None:
    moved = b"HTTP/1.1 307 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(NoResponse, match="redirects more than"):
        posted(ScriptedServer(*[moved] * 20))


def test_a_redirect_is_a_response_if_none_is_followed() -> None:
    moved = b"HTTP/1.1 307 Moved\r\nLocation: /other\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n"
    found = posted(ScriptedServer(moved), follows_redirects=False)
    assert found == PostResponse(307, b"", "3")
