"""web3.py over HTTP, as far as its own tests, which tests/conformance runs, do not go."""

from __future__ import annotations

from typing import Any

import pytest
from hexbytes import HexBytes
from web3 import HTTPProvider, Web3

from tests.support.clients.accounts import ALICE, BOB, CHAIN_ID, GWEI, NOBODY
from tests.support.clients.contracts import CONTRACTS
from tests.support.inprocess_node import InprocessNode

pytestmark = pytest.mark.clients


@pytest.fixture(scope="module")
def web3(node: InprocessNode) -> Web3:
    return Web3(HTTPProvider(node.url))


def sign(web3: Web3, **fields: Any) -> bytes:
    transaction = {
        "chainId": CHAIN_ID,
        "nonce": web3.eth.get_transaction_count(ALICE.address, "pending"),
        "gas": 2_000_000,
        "value": 0,
        **({} if "gasPrice" in fields else {"maxFeePerGas": GWEI, "maxPriorityFeePerGas": 0}),
        **fields,
    }
    return bytes(ALICE.sign_transaction(transaction).raw_transaction)


def send(web3: Web3, **fields: Any) -> Any:
    sent = web3.eth.send_raw_transaction(sign(web3, **fields))
    return web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.01)


def deploy(web3: Web3, name: str) -> Any:
    receipt = send(web3, data=CONTRACTS[name]["bytecode"])
    return web3.eth.contract(receipt.contractAddress, abi=CONTRACTS[name]["abi"])


@pytest.fixture(scope="module")
def math(web3: Web3) -> Any:
    return deploy(web3, "math")


TOUCHED = [{"address": NOBODY, "storageKeys": ["0x" + "00" * 32]}]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"gasPrice": GWEI}, 0),
        ({"gasPrice": GWEI, "accessList": TOUCHED, "type": 1}, 1),
        ({"accessList": TOUCHED}, 2),
    ],
)
def test_a_transaction_comes_back_as_it_was_sent(
    web3: Web3, fields: dict[str, Any], kind: int
) -> None:
    receipt = send(web3, to=NOBODY, value=1, **fields)
    found = web3.eth.get_transaction(receipt.transactionHash)
    assert (receipt.type, found["type"], found["value"]) == (kind, kind, 1)
    assert len(found.get("accessList", [])) == (1 if kind else 0)
    assert found["from"] == ALICE.address


def test_an_account_is_delegated(web3: Web3, math: Any) -> None:
    nonce = web3.eth.get_transaction_count(BOB.address)
    fields = {"chainId": CHAIN_ID, "address": math.address, "nonce": nonce}
    receipt = send(web3, to=NOBODY, authorizationList=[BOB.sign_authorization(fields)])
    assert receipt.type == 4
    assert web3.eth.get_code(BOB.address) == HexBytes("0xef0100" + math.address[2:])
