"""Any request has a JSON-RPC response, and the node goes on working. ENTRESOL_CASES=100000 for the long run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robustness.fuzzing import Attack, problem_of
from tests.support.http_server import RawConnection
from tests.support.inprocess_node import run_command
from tests.support.node_process import RunningNode, running_node
from tests.support.run.examples import tries_many

CASES = int(os.environ.get("ENTRESOL_CASES", "3000" if tries_many() else "500"))
SETTINGS = ("--receipt-seconds", "0.2", "--call-seconds", "1", "--log-level", "warning")


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running


@pytest.mark.parametrize("over_websocket", [False, True], ids=["http", "ws"])
def test_any_request_has_a_response_and_the_chain_goes_on(
    tmp_path: Path, over_websocket: bool
) -> None:
    directory = ("--data-dir", str(tmp_path / "chain"))
    with running_node(*directory, *SETTINGS) as node:
        attack = Attack(node.port, 1 + over_websocket, over_websocket=over_websocket)
        attack.send(CASES)
        attack.check_that_it_works()
        attack.close()
        assert node.stop() == 0
        assert "Traceback" not in node.printed()
    assert {0, -32700, -32600, -32601, -32602, -32000} <= attack.counts.keys()
    verified = run_command("verify", *directory)
    assert verified.returncode == 0, verified.stderr


@pytest.mark.parametrize("depth", [1_000, 10_000, 1_000_000])
@pytest.mark.parametrize(
    "text",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":%b}',
        b'{"jsonrpc":"2.0","id":1,"method":"eth_signTypedData_v4","params":["0x",%b]}',
        b'{"jsonrpc":"2.0","id":%b,"method":"eth_chainId"}',
        b"[%b]",
    ],
)
def test_deep_nesting_is_rejected_by_a_node_that_lives_on(
    node: RunningNode, text: bytes, depth: int
) -> None:
    with RawConnection(node.port) as client:
        for value in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
            status, _, body = client.post(text % value)
            assert status in {200, 400}
            response = json.loads(body)
            for item in response if isinstance(response, list) else [response]:
                assert problem_of(item) is None
                assert item["error"]["code"] in {-32700, -32600, -32602}
        chain = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
        assert json.loads(client.post(chain).body)["result"] == "0x10e"
