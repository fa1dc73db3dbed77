"""Secrets of a fork's URL and headers, looked for in everything that a node prints, serves, answers and writes."""

from __future__ import annotations

import asyncio
import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from aiohttp import web

from entresol.cli.main import main
from tests.support.anvil import Anvil
from tests.support.fork import faults
from tests.support.fork.proxy import FaultyProxy, faulty_proxy
from tests.support.fork.remote_anvil import RemoteAnvil, remote_anvil
from tests.support.inprocess_node import inprocess_anvil
from tests.support.rpc_client import HttpRpcClient

USER: Final = "us3r-s3cr3t"
PASSWORD: Final = "p@ss/s3cr3t"  # noqa: S105  # a sample
PATH: Final = "p4th-s3cr3t"
QUERY: Final = "qu3ry s3cr3t"
HEADER: Final = "h34d3r-s3cr3t"
CLIENTS: Final = "cl13nt-s3cr3t"
"""In a URL that a client names."""
BASIC: Final = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

SECRETS: Final = (
    *(USER, PASSWORD, quote(PASSWORD, safe=""), PATH, QUERY, quote(QUERY), QUERY.replace(" ", "+")),
    *(HEADER, CLIENTS, BASIC),
)
PAGES: Final = ("/health", "/metrics", "/openrpc.json", "/")
QUICK: Final = ("--fork-timeout", "500", "--fork-retries", "0")
"""In milliseconds, as anvil has them."""


def secret_url(url: str) -> str:
    """Return a URL with a secret in each of its parts."""
    host = url.removeprefix("http://")
    return f"http://{USER}:{quote(PASSWORD, safe='')}@{host}/v2/{PATH}?key={quote(QUERY)}"


async def _told(request: web.Request) -> str:
    """Return all that a remote knows of a request, as a gateway may repeat it in an error."""
    return f"{request.url} {request.raw_path} {dict(request.headers)} {PASSWORD} {QUERY}"


async def _repeated_in_an_error(request: web.Request) -> web.StreamResponse:
    body = json.loads(await request.read())
    error = {"code": -32000, "message": await _told(request)}
    answers = [
        {"jsonrpc": "2.0", "id": entry["id"], "error": error}
        for entry in (body if isinstance(body, list) else [body])
    ]
    return web.json_response(answers if isinstance(body, list) else answers[0])


async def _repeated_in_a_page(request: web.Request) -> web.StreamResponse:
    return web.Response(status=403, text=await _told(request))


async def _redirected(request: web.Request) -> web.StreamResponse:
    return web.Response(status=307, headers={"Location": str(request.url)})


async def _not_json(request: web.Request) -> web.StreamResponse:
    return web.Response(text=await _told(request), content_type="application/json")


FAULTS: Final = (
    *(_repeated_in_an_error, _repeated_in_a_page, _redirected, _not_json),
    *(faults.dropped, faults.truncated, faults.stalled, faults.too_many_requests()),
)


class Shown:
    """Texts that a node has shown, by where."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []

    def add(self, place: str, text: str | bytes) -> None:
        """Keep a text."""
        shown = text if isinstance(text, str) else text.decode(errors="replace")
        self.texts.append((place, shown))

    def ask(self, node: HttpRpcClient, method: str, *params: object) -> str:
        """Keep the whole response to a request."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        response: dict[str, Any] = node.post(request)
        self.add(method, json.dumps(response))
        message: str = response.get("error", {}).get("message", "")
        return message

    def add_pages(self, url: str) -> None:
        """Keep what the server has beside JSON-RPC."""
        for page in PAGES:
            try:
                with urllib.request.urlopen(url + page, timeout=60) as response:
                    self.add(page, response.read())
            except urllib.error.HTTPError as error:
                self.add(page, error.read())

    def add_files(self, folder: Path) -> None:
        """Keep all files of a folder."""
        for file in folder.rglob("*"):
            if file.is_file():
                self.add(str(file.relative_to(folder)), file.read_bytes())

    @property
    def leaks(self) -> list[tuple[str, str, str]]:
        """Which secret is shown where."""
        return [
            (place, secret, text[max(text.find(secret) - 80, 0) :][:200])
            for place, text in self.texts
            for secret in SECRETS
            if secret in text
        ]


@contextmanager
def fork_with_secrets(
    remote: RemoteAnvil, monkeypatch: pytest.MonkeyPatch, folder: Path, *flags: str
) -> Iterator[tuple[FaultyProxy, Anvil, Shown]]:
    """Start a fork whose URL and header have secrets, which are given by the environment."""
    shown = Shown()
    output = folder / "output"
    with faulty_proxy(remote.url) as proxy:
        monkeypatch.setenv("ENTRESOL_FORK_SECRETIVE", secret_url(proxy.url))
        monkeypatch.setenv("ENTRESOL_FORK_HEADER", f"x-key: Bearer {HEADER}")
        monkeypatch.setenv("ENTRESOL_CACHE_DIR", str(folder / "caches"))
        named = ("--fork-url", f"secretive@{remote.number}")
        written = ("--config-out", str(folder / "config.json"))
        with inprocess_anvil(*flags, *named, *written, output=output) as node:
            yield proxy, node, shown
    shown.add_files(folder)


def ask_in_vain(shown: Shown, proxy: FaultyProxy, node: Anvil, fault: faults.Fault) -> None:
    """Ask for all kinds of things while the remote fails."""
    proxy.fault = fault
    address = f"0x{1000 + len(shown.texts):040x}"
    failed = [
        shown.ask(node, "eth_getBalance", address, "latest"),
        shown.ask(node, "eth_call", {"to": address}, "latest"),
        shown.ask(node, "eth_getBlockByNumber", "0x1", True),
        shown.ask(node, "eth_getLogs", {"fromBlock": "0x0"}),
        shown.ask(node, "anvil_reset", {"forking": {"blockNumber": 3}}),
        shown.ask(
            node,
            "eth_sendTransaction",
            {"from": node("eth_accounts")[0], "to": address, "gas": "0x7530", "value": "0x1"},
        ),
    ]
    proxy.fault = None
    assert all("127.0.0.1" in message for message in failed), failed


def bad_urls(proxy: FaultyProxy) -> Sequence[str]:
    host = proxy.url.removeprefix("http://")
    return (
        f"http://{CLIENTS}:{CLIENTS}@127.0.0.1:1/{CLIENTS}?{CLIENTS}#{CLIENTS}",
        f"ftp://{CLIENTS}@{host}/{CLIENTS}",
        f"http://127.0.0.1:99999/{CLIENTS}",
        f"http://[{CLIENTS}",
        f"http://{CLIENTS}@not-a-host.invalid/{CLIENTS}",
        f"{CLIENTS}",
    )


def test_secrets_are_nowhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with remote_anvil(is_real=False) as remote:
        context = fork_with_secrets(remote, monkeypatch, tmp_path, "anvil", "-vvv", *QUICK)
        with context as (proxy, node, shown):
            for fault in FAULTS:
                ask_in_vain(shown, proxy, node, fault)
            for url in bad_urls(proxy):
                shown.ask(node, "anvil_reset", {"forking": {"jsonRpcUrl": url}})
                shown.ask(node, "anvil_setRpcUrl", url)
            shown.ask(node, "eth_call", {"to": remote.counter}, "latest")
            for method in ("anvil_nodeInfo", "anvil_metadata", "hardhat_metadata", "eth_config"):
                shown.ask(node, method)
            shown.ask(node, "anvil_dumpState")
            shown.add_pages(node.url)
            # Headers of the remote have them: else nothing would be shown by this test.
            assert proxy.headers[-1]["x-key"] == f"Bearer {HEADER}"
            assert proxy.headers[-1]["Authorization"] == f"Basic {BASIC}"
        for command in (["list"], ["show", "99"], ["export", str(tmp_path / "fork.sqlite"), "99"]):
            assert main(["cache", *command]) == 0, command
        shown.add("cache", "".join(capsys.readouterr()))
        shown.add_files(tmp_path)
    places = {place for place, _ in shown.texts}
    assert {"output", "config.json", "fork.sqlite", "/health", "/metrics"} <= places
    assert any(place.endswith(".sqlite") for place in places), places
    assert shown.leaks == []


def test_secrets_are_not_in_the_log_of_everything_nor_in_the_directory_of_a_chain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    patience = ("--fork-timeout", "1", "--fork-retries", "0")
    flags = (*patience, "--log-level", "debug", "--data-dir", str(tmp_path / "chain"))
    with remote_anvil(is_real=False) as remote:
        context = fork_with_secrets(remote, monkeypatch, tmp_path, *flags)
        with context as (proxy, node, shown):
            ask_in_vain_for_reads(shown, proxy, node)
            shown.add_pages(node.url)
        shown.add_files(tmp_path)
    assert shown.leaks == []


def ask_in_vain_for_reads(shown: Shown, proxy: FaultyProxy, node: Anvil) -> None:
    for number, fault in enumerate(FAULTS):
        proxy.fault = fault
        assert "127.0.0.1" in shown.ask(node, "eth_getBalance", f"0x{number + 1000:040x}", "latest")
    proxy.fault = None


@pytest.mark.parametrize("fault", [*FAULTS, None])
def test_a_start_that_fails_shows_no_secret(
    fault: faults.Fault | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def no_node(body: bytes) -> bytes:
        await asyncio.sleep(0)
        return b"[" + body + b"]"

    with faulty_proxy(no_node) as proxy:
        proxy.fault = fault
        monkeypatch.setenv("ENTRESOL_FORK_URL", secret_url(proxy.url))
        monkeypatch.setenv("ENTRESOL_FORK_HEADER", f"x-key: Bearer {HEADER}")
        assert main(["anvil", "--port", "0", *QUICK]) != 0
    shown = Shown()
    shown.add("output", "".join(capsys.readouterr()))
    assert proxy.url in shown.texts[0][1]
    assert shown.leaks == []


@pytest.mark.parametrize(
    "flags",
    [
        ("--fork-url", f"ftp://{USER}@host/{PATH}"),
        ("--fork-url", f"{PATH}/{QUERY}"),
        ("--fork-url", f"http://{USER}@/{PATH}"),
        ("--fork-url", f"http://host:port/{PATH}"),
        ("--fork-url", "http://127.0.0.1:1", "--fork-header", f"{HEADER}"),
        ("--fork-url", "http://127.0.0.1:1", "--fork-header", f"x-key: {HEADER}\x01"),
        (
            "--fork-url",
            f"http://127.0.0.1:1/{PATH}@1",
            "--fork-url",
            f"http://127.0.0.1:1/{PATH}@2",
        ),
    ],
)
def test_flags_that_are_rejected_show_no_secret(
    flags: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["anvil"], []):
        assert main([*command, "--port", "0", *flags]) != 0
    shown = Shown()
    shown.add("output", "".join(capsys.readouterr()))
    assert "--fork-" in shown.texts[0][1]
    assert shown.leaks == []
