"""The explorer over real sockets: who gets the page, and what the path to the other layer lets through."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from tests.support.inprocess_node import InprocessNode, inprocess_anvil, inprocess_node
from tests.support.polling import eventually

BROWSER = {"Accept": "text/html,application/xhtml+xml"}
SECRET = "a-key-that-nobody-may-see"  # noqa: S105 - of no provider
L1_CHAIN = "0x7a69"


def fetch(url: str, path: str, headers: dict[str, str] | None = None) -> Any:
    with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)) as client:
        client.request("GET", path, headers=headers or {})
        response = client.getresponse()
        return response.status, response.getheaders(), response.read().decode()


def post(url: str, path: str, method: str, *params: object) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)) as client:
        client.request("POST", path, body, {"Content-Type": "application/json"})
        return json.loads(client.getresponse().read())


def l1_port_of(node: InprocessNode) -> int:
    (url,) = (line.split()[1] for line in node.output.splitlines()[-8:] if line[:5] == "HTTP ")
    return urlsplit(url).port or 0


def test_a_browser_gets_the_page_and_other_clients_what_they_got_before() -> None:
    with inprocess_node() as node:
        status, headers, body = fetch(node.url, "/", BROWSER)
        assert (status, body[:15]) == (200, "<!doctype html>")
        assert "frame-ancestors 'none'" in dict(headers)["content-security-policy"]
        assert fetch(node.url, "/", {"Accept": "*/*"})[0] == 405
        assert fetch(node.url, "/health")[0] == fetch(node.url, "/openrpc.json")[0] == 200
        assert fetch(node.url, "/explorer/../cli.py")[0] == fetch(node.url, "/explorer/")[0] == 405
        assert post(node.url, "/", "eth_chainId")["result"] == "0x10e"
        assert fetch(node.url, "/", BROWSER | {"Host": "evil.example"})[0] == 403


def test_the_path_to_the_other_layer_leads_there_over_http_and_websocket() -> None:
    with inprocess_node() as node:
        assert post(node.url, "/explorer/l1", "eth_chainId")["result"] == L1_CHAIN
        assert post(node.url, "/explorer/l2", "eth_chainId")["result"] == "0x10e"
        with connect(f"ws://127.0.0.1:{node.port}/explorer/l1") as socket:
            call = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
            socket.send(json.dumps(call))
            subscription = json.loads(socket.recv())["result"]
            post(node.url, "/explorer/l1", "evm_mine")
            assert json.loads(socket.recv())["params"]["subscription"] == subscription


def test_what_the_page_asks_for_is_not_logged() -> None:
    with inprocess_node() as node:
        for path, method in (
            ("/explorer/own", "eth_gasPrice"),
            ("/explorer/l1", "eth_gasPrice"),
            ("/explorer/270", "eth_gasPrice"),
            ("/explorer", "eth_syncing"),
            ("/", "eth_blockNumber"),
        ):
            assert "result" in post(node.url, path, method)
        eventually(lambda: "eth_blockNumber" in node.printed())
        assert "eth_syncing" in node.printed()
        assert "eth_gasPrice" not in node.printed()


def urls_of(node: InprocessNode) -> list[str]:
    return [line.split()[1] for line in node.output.splitlines() if line[:5] == "HTTP "]


def test_every_port_reaches_each_of_several_chains_by_its_id() -> None:
    with inprocess_node("--chains", "2", "--workers", "2") as node:
        urls = urls_of(node)
        assert len(urls) == 3
        for url in urls:
            ports = [
                chain["port"]
                for chain in json.loads(fetch(url, "/explorer/node.json")[2])["chains"]
            ]
            assert ports == [urlsplit(url).port for url in urls[:2]]
            for chain in (270, 271):
                assert post(url, f"/explorer/{chain}", "eth_chainId")["result"] == hex(chain)
                health = json.loads(fetch(url, f"/explorer/{chain}/health")[2])
                assert (health["status"], health["settlement"]) == ("ready", None)
                status, headers, body = fetch(url, f"/explorer/{chain}", BROWSER)
                assert (status, body[:15]) == (200, "<!doctype html>")
                assert "content-security-policy" in dict(headers)
            assert fetch(url, "/explorer/999", BROWSER)[0] == 405


def test_without_the_explorer_there_is_no_page_and_no_path() -> None:
    with inprocess_node("--no-explorer") as node:
        assert fetch(node.url, "/", BROWSER)[0] == 405
        assert (
            fetch(node.url, "/explorer/main.js")[0]
            == fetch(node.url, "/explorer/node.json")[0]
            == 405
        )
        assert post(node.url, "/explorer/l1", "eth_chainId")["result"] == "0x10e"


@pytest.mark.slow
def test_a_remote_layer_1_is_only_read_and_its_url_stays_here() -> None:
    with inprocess_node() as other:
        url = f"http://127.0.0.1:{l1_port_of(other)}/{SECRET}"
        with inprocess_node("--l1-url", url, "--deploy-l1", "--chain-id", "271") as node:
            assert post(node.url, "/explorer/l1", "eth_chainId")["result"] == L1_CHAIN
            for method in (
                "eth_sendRawTransaction",
                "eth_accounts",
                "evm_mine",
                "eth_sendTransaction",
            ):
                assert post(node.url, "/explorer/l1", method)["error"]["code"] == -32601
            info = fetch(node.url, "/explorer/node.json")[2]
            assert json.loads(info)["remote"] is True
            assert SECRET not in info
            other.stop()
            failed = post(node.url, "/explorer/l1", "eth_blockNumber")["error"]["message"]
            assert "cannot be reached" in failed
            assert SECRET not in failed


def test_a_layer_1_alone_has_no_other_layer() -> None:
    with inprocess_anvil("anvil") as node:
        info = json.loads(fetch(node.url, "/explorer/node.json")[2])
        assert (info["layer"], info["other"]) == (1, None)
    with inprocess_anvil("anvil", "--no-explorer") as node:
        assert fetch(node.url, "/", BROWSER)[0] == 405
