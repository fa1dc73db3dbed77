"""The Unix socket of a node: unmodified clients, notifications, limits and the end."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web3 import IPCProvider, Web3
from web3.types import Wei

from tests.support.inprocess_node import InprocessNode, inprocess_node, run_command
from tests.support.polling import PATIENCE_SECONDS


class IpcClient:
    """A client that sends bytes, and reads lines."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_SECONDS)
        self.socket.connect(str(path))
        self._file = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self) -> Any:
        """Return the next document; None at the end."""
        line = self._file.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        self._file.close()
        self.socket.close()


def request(method: str, *params: object, number: int = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ipc")


@pytest.fixture(scope="module")
def node(directory: Path) -> Iterator[InprocessNode]:
    flags = ("--ipc", str(directory / "l2"), "--l1-ipc", str(directory / "l1"))
    with inprocess_node(*flags, "--body-limit-bytes", "100000") as started:
        yield started


@pytest.fixture
def client(node: InprocessNode, directory: Path) -> Iterator[IpcClient]:
    assert node.url
    connected = IpcClient(directory / "l2")
    yield connected
    connected.close()


@pytest.mark.parametrize(("layer", "chain_id"), [("l2", 270), ("l1", 31337)])
@pytest.mark.clients
def test_web3_sends_a_transaction(
    node: InprocessNode, directory: Path, layer: str, chain_id: int
) -> None:
    assert node.url
    provider = IPCProvider(directory / layer)
    web3 = Web3(provider)
    assert web3.eth.chain_id == chain_id
    (sender, *_) = list(web3.eth.accounts)
    sent = web3.eth.send_transaction({"from": sender, "to": sender, "value": Wei(1)})
    assert web3.eth.wait_for_transaction_receipt(sent)["status"] == 1
    # It has no method to disconnect.
    provider._socket.sock.close()  # type: ignore[attr-defined]


def test_documents_may_follow_each_other_without_white_space(client: IpcClient) -> None:
    client.send(b"".join(request("eth_chainId", number=number) for number in range(3)))
    client.send(b"[" + request("net_version") + b"]\n")
    assert [client.read()["id"] for _ in range(3)] == [0, 1, 2]
    assert client.read()[0]["result"] == "270"


def test_a_subscriber_is_notified(client: IpcClient) -> None:
    client.send(request("eth_subscribe", "newHeads"))
    subscription = client.read()["result"]
    client.send(request("evm_mine"))
    received = [client.read() for _ in range(2)]
    (head,) = [entry["params"] for entry in received if "params" in entry]
    assert head["subscription"] == subscription
    assert int(head["result"]["number"], 16) >= 1


@pytest.mark.parametrize(
    ("sent", "code"), [(b"hello\n", -32700), (b'{"a": "' + b"x" * 200_000, -32007)]
)
def test_what_is_no_document_is_rejected_and_closed(
    client: IpcClient, sent: bytes, code: int
) -> None:
    client.send(sent)
    assert client.read()["error"]["code"] == code
    assert client.read() is None


def test_a_malformed_document_is_rejected_and_the_next_one_served(client: IpcClient) -> None:
    client.send(b"{x}" + request("eth_chainId"))
    assert client.read()["error"]["code"] == -32700
    assert client.read()["result"] == hex(270)


def test_the_file_is_gone_when_the_node_has_stopped(tmp_path: Path) -> None:
    path = tmp_path / "node.ipc"
    with inprocess_node("--no-l1", "--ipc", str(path)) as node:
        client = IpcClient(path)
        client.send(request("eth_chainId"))
        assert client.read()["result"] == hex(270)
        assert node.stop() == 0
        assert client.read() is None
        client.close()
    assert not path.exists()


def test_a_path_in_use_is_named_with_its_flag(node: InprocessNode, directory: Path) -> None:
    assert node.url
    second = run_command("--no-l1", "--port", "0", "--ipc", str(directory / "l2"))
    assert second.returncode != 0
    assert "in use by another process" in second.stderr
    assert "--ipc" in second.stderr
