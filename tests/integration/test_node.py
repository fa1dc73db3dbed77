"""A whole node, started from the command line and used by an unmodified client."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web3 import Web3
from websockets.sync.client import connect

from tests.support.clients.accounts import ALICE, BOB, ETHER
from tests.support.node_process import RunningNode, run_entresol, running_node
from tests.support.polling import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running


@pytest.fixture
def web3(node: RunningNode) -> Web3:
    return Web3(Web3.HTTPProvider(node.url))


def send(web3: Web3, **fields: Any) -> Any:
    transaction = {
        "type": 2,
        "chainId": 270,
        "nonce": web3.eth.get_transaction_count(ALICE.address, "pending"),
        "gas": 200_000,
        "maxFeePerGas": 10**9,
        "maxPriorityFeePerGas": 0,
        "value": 0,
        **fields,
    }
    signed = ALICE.sign_transaction(transaction)
    return web3.eth.wait_for_transaction_receipt(
        web3.eth.send_raw_transaction(signed.raw_transaction)
    )


def get(url: str) -> tuple[int, bytes]:
    with urllib.request.urlopen(url) as response:
        return response.status, response.read()


def test_the_banner_shows_accounts_keys_and_address(node: RunningNode) -> None:
    assert ALICE.address in node.output
    assert "0x" + bytes(ALICE.key).hex() in node.output
    assert "test test test" in node.output
    assert node.output.rstrip().splitlines()[-1].startswith("Listening on 127.0.0.1:")


def test_web3_sends_ether_and_sees_it_arrive(web3: Web3) -> None:
    before = web3.eth.get_balance(BOB.address)
    receipt = send(web3, to=BOB.address, value=ETHER)
    assert (receipt.status, receipt.gasUsed) == (1, 21_000)
    assert web3.eth.get_balance(BOB.address) == before + ETHER
    block: Any = web3.eth.get_block(receipt.blockNumber, True)
    assert block.transactions[0]["value"] == ETHER


def test_web3_deploys_a_contract_and_reads_its_logs(web3: Web3) -> None:
    # Deploys a program that logs its call data, then calls it.
    program = "365f5f37365fa000"
    receipt = send(web3, data="0x67" + program + "5f5260086018f3")
    called = send(web3, to=receipt.contractAddress, data="0x1234")
    (log,) = web3.eth.get_logs({"address": receipt.contractAddress, "fromBlock": 0})
    assert (bytes(log["data"]), log["transactionHash"]) == (b"\x12\x34", called.transactionHash)


def test_a_filter_returns_new_blocks(web3: Web3) -> None:
    blocks = web3.eth.filter("latest")
    receipt = send(web3, to=BOB.address, value=1)
    assert blocks.get_new_entries() == [receipt.blockHash]
    assert blocks.get_new_entries() == []
    assert blocks.filter_id is not None
    assert web3.eth.uninstall_filter(blocks.filter_id)


def test_a_websocket_is_notified_of_new_heads(node: RunningNode, web3: Web3) -> None:
    with connect(node.url.replace("http", "ws")) as websocket:
        ask = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
        websocket.send(json.dumps(ask))
        subscription = json.loads(websocket.recv(PATIENCE_SECONDS))["result"]
        receipt = send(web3, to=BOB.address, value=1)
        notification = json.loads(websocket.recv(PATIENCE_SECONDS))["params"]
    assert notification["subscription"] == subscription
    assert notification["result"]["hash"] == Web3.to_hex(receipt.blockHash)


def test_the_path_may_name_the_method(node: RunningNode) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "eth_chainId", "params": []}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{node.url}/eth_chainId", body, headers)
    with urllib.request.urlopen(request) as response:
        assert json.load(response) == {"jsonrpc": "2.0", "id": 5, "result": "0x10e"}


def test_health_metrics_and_description_are_served(node: RunningNode) -> None:
    status, health = get(f"{node.url}/health")
    assert (status, json.loads(health)["status"]) == (200, "ready")
    assert b"eth_" in get(f"{node.url}/metrics")[1]
    names = [method["name"] for method in json.loads(get(f"{node.url}/openrpc.json")[1])["methods"]]
    assert "eth_getBlockByNumber" in names


def test_snapshots_and_time_serve_test_suites(web3: Web3) -> None:
    def rpc(method: str, *params: Any) -> Any:
        return web3.provider.make_request(method, list(params))["result"]  # type: ignore[arg-type]

    snapshot = rpc("evm_snapshot")
    before = web3.eth.block_number
    rpc("anvil_setBalance", BOB.address, "0x7")
    assert web3.eth.get_balance(BOB.address) == 7
    rpc("evm_increaseTime", 1_000)
    rpc("evm_mine")
    assert web3.eth.block_number == before + 1
    assert rpc("evm_revert", snapshot) is True
    assert web3.eth.block_number == before
    assert web3.eth.get_balance(BOB.address) != 7


def test_a_chain_with_a_directory_survives_a_restart(tmp_path: Path) -> None:
    # A receipt has the number of its batch, once there is one.
    arguments = ("--data-dir", str(tmp_path / "chain"), "--no-settle")
    with running_node(*arguments) as first:
        receipt = send(Web3(Web3.HTTPProvider(first.url)), to=BOB.address, value=5)
        assert first.stop() == 0
    with running_node(*arguments) as second:
        again = Web3(Web3.HTTPProvider(second.url))
        assert again.eth.get_transaction_receipt(receipt.transactionHash) == receipt


def test_an_interval_seals_blocks_by_itself() -> None:
    with running_node("--block-time", "0.1") as node:
        web3 = Web3(Web3.HTTPProvider(node.url))
        receipt = send(web3, to=BOB.address, value=1)
        assert receipt.status == 1


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (
            ["--port", "70000"],
            2,
            "error: --port: expected a whole number of at most 65535, got 70000",
        ),
        (
            ["--hardfork", "atlantis"],
            2,
            "error: --hardfork: 'atlantis' is not known; choose one of ",
        ),
        (
            ["--hardfork", "pragu"],
            2,
            "error: --hardfork: 'pragu' is not known; did you mean prague? choose one of byz",
        ),
        (["--genesis", "none.json"], 1, "error: none.json: No such file or directory"),
        (["rebuild"], 2, "error: --data-dir: this command needs a data directory"),
    ],
)
def test_an_error_is_reported_in_one_line(arguments: list[str], code: int, problem: str) -> None:
    ran = run_entresol(*arguments)
    assert ran.returncode == code
    assert ran.stderr.startswith(problem)
    assert ran.stderr.count("\n") == 1


def test_a_busy_port_is_reported_with_the_flag_that_helps() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = run_entresol("--port", str(taken.getsockname()[1]), "--l1-port", "0")
    assert ran.returncode == 1
    assert "--port" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_directory_is_verified_and_rebuilt(tmp_path: Path) -> None:
    directory = str(tmp_path / "chain")
    with running_node("--data-dir", directory) as node:
        send(Web3(Web3.HTTPProvider(node.url)), to=BOB.address, value=5)
        assert run_entresol("verify", "--data-dir", directory).returncode == 1
        node.stop()
    assert "block 1 " in run_entresol("verify", "--data-dir", directory).stdout
    assert "rebuilt 2 of 2 blocks" in run_entresol("rebuild", "--data-dir", directory).stderr
    assert run_entresol("verify", "--data-dir", directory).returncode == 0
