"""Accounts that a node acts for, used by an unmodified client through a real node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from web3 import Web3
from web3.exceptions import Web3RPCError

from tests.support.clients.accounts import ALICE, BOB, ETHER
from tests.support.inprocess_node import InprocessNode, inprocess_node, run_command

STRANGER = Web3.to_checksum_address("0x" + "ab" * 20)
DEVELOPER_METHODS = [
    ("evm_mine",),
    ("anvil_setBalance", STRANGER, "0x1"),
    ("anvil_impersonateAccount", STRANGER),
    ("hardhat_mine", "0x1"),
    ("anvil_zks_commitBatch", "0x1"),
]
EVERYWHERE = ("--host", "0.0.0.0")  # noqa: S104  # what is tested


def client_of(node: InprocessNode) -> Any:
    """Return a web3 whose types do not get into the way of what is to be seen."""
    return Web3(Web3.HTTPProvider(node.url.replace(EVERYWHERE[1], "127.0.0.1")))


def rpc(web3: Any, method: str, *params: Any) -> Any:
    response = web3.provider.make_request(method, list(params))
    return response.get("error") or response["result"]


def impersonate(web3: Any) -> Any:
    rpc(web3, "anvil_setBalance", STRANGER, hex(ETHER))
    # A contract, which no key speaks for.
    rpc(web3, "anvil_setCode", STRANGER, "0x00")
    rpc(web3, "anvil_impersonateAccount", STRANGER)
    sent = web3.eth.send_transaction({"from": STRANGER, "to": BOB.address, "value": 5})
    return web3.eth.wait_for_transaction_receipt(sent)


def test_what_an_impersonated_account_sent_survives_and_verifies(tmp_path: Path) -> None:
    directory = str(tmp_path / "chain")
    # A receipt has the number of its batch, once there is one.
    arguments = ("--data-dir", directory, "--no-settle")
    with inprocess_node(*arguments) as first:
        receipt = impersonate(client_of(first))
        assert (receipt["status"], receipt["from"]) == (1, STRANGER)
        assert first.stop() == 0
    assert run_command("verify", "--data-dir", directory).returncode == 0
    assert run_command("rebuild", "--data-dir", directory).returncode == 0
    with inprocess_node(*arguments) as second:
        again = client_of(second)
        assert again.eth.get_transaction_receipt(receipt["transactionHash"]) == receipt
        raw = again.eth.get_raw_transaction(receipt["transactionHash"])
        with pytest.raises(Web3RPCError, match="invalid signature"):
            again.eth.send_raw_transaction(raw)
        with pytest.raises(Web3RPCError, match="unknown account"):
            again.eth.send_transaction({"from": STRANGER, "to": BOB.address, "gas": 21_000})


def test_a_node_that_others_can_reach_locks_its_accounts_and_serves_no_developer_methods() -> None:
    with inprocess_node(*EVERYWHERE) as node:
        assert "Accounts     locked: the node listens on 0.0.0.0" in node.output
        assert "Methods      without evm_, anvil_ and hardhat_: the node listens on" in node.output
        web3 = client_of(node)
        assert web3.eth.accounts == []
        error = rpc(web3, "eth_sendTransaction", {"from": ALICE.address, "to": BOB.address})
        assert error["code"] == -32000
        assert "--expose-unlocked-accounts" in error["message"]
        for method, *params in DEVELOPER_METHODS:
            assert rpc(web3, method, *params)["code"] == -32601
        # Play money stays: nobody's is at stake.
        assert web3.eth.get_balance(ALICE.address) == 10_000 * ETHER


def test_developer_methods_can_be_requested_where_others_can_reach_the_node() -> None:
    with inprocess_node(*EVERYWHERE, "--dev-methods") as node:
        assert "although the node listens on 0.0.0.0: every client can change" in node.output
        web3 = client_of(node)
        assert rpc(web3, "evm_mine") == "0x0"
        # They do not unlock accounts.
        error = rpc(web3, "anvil_impersonateAccount", STRANGER)
        assert error["code"] == -32000
        assert "--expose-unlocked-accounts" in error["message"]


def test_a_flag_exposes_the_accounts_and_another_leaves_out_methods() -> None:
    with inprocess_node(*EVERYWHERE, "--expose-unlocked-accounts", "--no-dev-methods") as node:
        assert "Accounts     12 unlocked" in node.output
        assert "without evm_, anvil_ and hardhat_" in node.output
        web3 = client_of(node)
        assert web3.eth.send_transaction({"from": ALICE.address, "to": BOB.address, "value": 1})
        assert rpc(web3, "evm_mine")["code"] == -32601


@pytest.mark.parametrize("flag", ["--genesis", "--l1-init"])
def test_the_l1_of_a_pair_signs_for_what_its_genesis_funds(tmp_path: Path, flag: str) -> None:
    signer = Account.from_key("0x" + "17" * 32)
    alloc = {signer.address: {"balance": hex(ETHER), "secretKey": "0x" + "17" * 32}}
    chain_id = 270 if flag == "--genesis" else 9
    document = {"config": {"chainId": chain_id}, "gasLimit": "0x1c9c380", "alloc": alloc}
    genesis, info = tmp_path / "genesis.json", tmp_path / "info.json"
    genesis.write_text(json.dumps(document), "utf-8")
    flags = (flag, str(genesis), "--l1-chain-id", "9", "--config-out", str(info))
    with inprocess_node(*flags, info=info):
        l1: Any = Web3(Web3.HTTPProvider(json.loads(info.read_text("utf-8"))["l1"]["http_url"]))
        assert l1.eth.accounts[0] == ALICE.address
        senders = [ALICE.address] if flag == "--genesis" else [ALICE.address, signer.address]
        for sender in senders:
            sent = l1.eth.send_transaction({"from": sender, "to": BOB.address, "value": 1})
            assert l1.eth.wait_for_transaction_receipt(sent)["status"] == 1
