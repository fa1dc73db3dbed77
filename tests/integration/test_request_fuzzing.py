"""Any request has a JSON-RPC response, and the node goes on working.

The long run of the same is `python -m tests.robustness`; docs/reports/robustness.md has the results.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robustness.attack import Attack, is_json, problem_of
from tests.support.http_server import RawConnection
from tests.support.inprocess_node import run_command
from tests.support.node_process import RunningNode, running_node
from tests.support.run.examples import tries_many

CASES = int(os.environ.get("ENTRESOL_CASES", "1500" if tries_many() else "500"))
SETTINGS = (
    "--receipt-seconds", "0.2", "--call-seconds", "1", "--log-level", "warning",
)  # fmt: skip


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running


@pytest.mark.parametrize(("seed", "websocket_share"), [(1, 0.0), (2, 1.0)], ids=["http", "ws"])
def test_any_request_has_a_response_and_the_chain_goes_on(
    tmp_path: Path, seed: int, websocket_share: float
) -> None:
    directory = ("--data-dir", str(tmp_path / "chain"))
    for part in range(2):
        with running_node(*directory, *SETTINGS) as node:
            attack = Attack(node.url, 10 * seed + part, websocket_share)
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
        b'{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["logs",%b]}',
        b'{"jsonrpc":"2.0","id":1,"method":"eth_signTypedData_v4","params":["0x",%b]}',
        b'{"jsonrpc":"2.0","id":%b,"method":"eth_chainId"}',
        b'{"jsonrpc":"2.0","id":1,"method":%b}',
        b'{"x":%b}',
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


def test_the_checks_find_what_is_wrong_with_a_response() -> None:
    good = {"jsonrpc": "2.0", "id": 1, "result": None}
    assert problem_of(good) is None
    bads: tuple[object, ...] = (
        [],
        {**good, "jsonrpc": "1.0"},
        {**good, "error": {}},
        {**good, "id": []},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": ""}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Internal error"}},
    )
    assert all(problem_of(bad) is not None for bad in bads)
    assert is_json(b'["\\u00e9"]')
    assert not any(map(is_json, (b"[NaN]", b'"\\ud800"', b'"\xff"', b"[")))


def test_a_path_that_names_another_method_is_rejected(node: RunningNode) -> None:
    with RawConnection(node.port) as client:
        body = b'{"jsonrpc":"2.0","id":5,"method":"eth_chainId"}'
        rejected = json.loads(client.post(body, path="/eth_blockNumber").body)
        assert (rejected["id"], rejected["error"]["code"]) == (5, -32600)
        assert rejected["error"]["data"] == "the path says eth_blockNumber, the body eth_chainId"
        for path in ("/eth_chainId", "/eth_chainId?key=1", "/v1/mainnet", "/%00"):
            assert json.loads(client.post(body, path=path).body)["result"] == "0x10e"
