"""Transactions of the node itself, as clients see them and cannot send them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol.chain.keyring import Keyring
from entresol.primitives.interop_roots import ROOT_STORAGE, import_call
from entresol.primitives.transactions import SystemTransaction
from entresol.primitives.transactions.system import SYSTEM_SENDER
from tests.support.chain.api_client import ACCOUNTS, ApiClient
from tests.support.chain.dev_chain import GENESIS_NONCE, deposit, open_importing, roots, transaction
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError

NODE = str(SYSTEM_SENDER)


@pytest.fixture
def client() -> Iterator[ApiClient]:
    """Return the client of a chain whose block 1 has roots, a deposit and a transfer with a tip."""
    chain = open_importing()
    chain.schedule.seal_on_request()
    client = ApiClient(chain, keyring=Keyring(ACCOUNTS))
    chain.filler.roots.extend(roots(2))
    chain.enqueue(deposit(0))
    chain.add(transaction(0, tip=7))
    chain.builder.seal()
    yield client
    client.api.close()
    chain.close()


def first(client: ApiClient) -> dict[str, Any]:
    found: dict[str, Any] = client("eth_getBlockByNumber", "0x1", True)["transactions"][0]
    return found


def test_a_transaction_shows_its_sender_its_salt_and_no_price(client: ApiClient) -> None:
    payload = SystemTransaction.root_import(roots(2), GENESIS_NONCE)
    shown = first(client)
    expected = {
        "hash": str(payload.hash()), "type": "0x7d", "from": NODE, "to": str(ROOT_STORAGE),
        "nonce": hex(GENESIS_NONCE), "value": "0x0", "gasPrice": "0x0", "maxFeePerGas": "0x0",
        "maxPriorityFeePerGas": "0x0", "chainId": "0x10e", "input": hexed(import_call(roots(2))),
        "gas": hex(payload.gas_limit), "v": "0x0", "r": "0x0", "s": "0x0",
    }  # fmt: skip
    assert {key: shown[key] for key in expected} == expected
    assert client("eth_getTransactionByHash", shown["hash"]) == shown
    assert client("eth_getTransactionBySenderAndNonce", NODE, hex(GENESIS_NONCE)) == shown
    assert client("eth_getRawTransactionByHash", shown["hash"]) == hexed(payload.encode())


def test_a_receipt_has_its_gas_and_no_message(client: ApiClient) -> None:
    identity = first(client)["hash"]
    receipt = client("eth_getTransactionReceipt", identity)
    assert (receipt["type"], receipt["status"], receipt["from"]) == ("0x7d", "0x1", NODE)
    assert (receipt["effectiveGasPrice"], receipt["contractAddress"]) == ("0x0", None)
    assert (len(receipt["logs"]), receipt["l2ToL1Logs"]) == (2, [])
    receipts = client("eth_getBlockReceipts", "0x1")
    assert receipts[0] == receipt
    used = sum(int(shown["gasUsed"], 16) for shown in receipts)
    assert int(client("eth_getBlockByNumber", "0x1", False)["gasUsed"], 16) == used


def test_rewards_leave_it_out(client: ApiClient) -> None:
    history = client("eth_feeHistory", "0x1", "0x1", [0, 100])
    # The deposit has none.
    assert history["reward"] == [["0x0", "0x7"]]
    client.chain.filler.roots.extend(roots(100, first=10))
    client.chain.add(transaction(1, tip=9))
    client.chain.builder.seal()
    assert client("eth_feeHistory", "0x1", "0x2", [0, 50])["reward"] == [["0x9", "0x9"]]


def test_the_pending_block_shows_it(client: ApiClient) -> None:
    client.chain.filler.roots.extend(roots(1, first=5))
    (pending,) = client("eth_getBlockByNumber", "pending", True)["transactions"]
    assert (pending["type"], pending["nonce"]) == ("0x7d", hex(GENESIS_NONCE + 1))


def test_a_failing_import_is_an_error_of_those_who_ask_for_the_next_block(
    client: ApiClient,
) -> None:
    client.chain.filler.roots.extend(roots(1))
    for method, params in (("evm_mine", []), ("eth_getBlockByNumber", ["pending", False])):
        with pytest.raises(RpcError, match="InteropRootAlreadyExists") as rejected:
            client(method, *params)
        assert rejected.value.code == -32000
    assert client("eth_getBlockByNumber", "latest", False)["number"] == "0x1"


# Every way to send one, or to be its sender.


def test_its_bytes_are_rejected(client: ApiClient) -> None:
    raw = hexed(SystemTransaction.root_import(roots(1, first=9), GENESIS_NONCE + 1).encode())
    for method in ("eth_sendRawTransaction", "eth_sendRawTransactionSync", "trace_rawTransaction"):
        more = [["trace"]] if method.startswith("trace") else []
        with pytest.raises(RpcError, match="transaction type not supported: 0x7d"):
            client(method, raw, *more)


def test_a_reorganisation_does_not_bring_one(client: ApiClient) -> None:
    client("anvil_impersonateAccount", NODE)
    sent = {"from": NODE, "to": NODE, "gas": "0x50000", "gasPrice": hex(10**9)}
    client("anvil_setBalance", NODE, hex(10**18))
    with pytest.raises(RpcError, match="only the node itself sends"):
        client("anvil_reorg", 1, [[sent, 0]])


@pytest.mark.parametrize("method", ["anvil_setNonce", "hardhat_setNonce", "evm_setAccountNonce"])
def test_its_nonce_is_not_set_by_hand(client: ApiClient, method: str) -> None:
    with pytest.raises(RpcError, match="only the node itself sends"):
        client(method, NODE, "0x99")
