"""The methods of `eth` that read accounts, slots and raw transactions, and those that reject."""

from __future__ import annotations

import pytest

from entresol._native import EMPTY_ROOT, keccak256
from tests.support.chain.api_client import Client, hexed, send
from tests.support.chain.dev_chain import ALICE, ETHER, LOG_CODE, LOGGER, NOBODY, transaction
from tests.support.rpc_client import RpcError

SLOT = "0x" + "00" * 31 + "01"
VALUE = "0x" + "22" * 32
EMPTY = "0x" + "00" * 32


def test_an_account_is_what_the_trie_has(client: Client) -> None:
    assert client("eth_getAccount", str(ALICE)) == {
        "balance": hex(100 * ETHER),
        "nonce": "0x0",
        "codeHash": hexed(keccak256(b"")),
        "storageRoot": hexed(EMPTY_ROOT),
    }
    assert client("eth_getAccount", str(LOGGER))["codeHash"] == hexed(keccak256(LOG_CODE))


def test_an_account_with_storage_has_the_root_that_proofs_have(client: Client) -> None:
    client("anvil_setStorageAt", str(LOGGER), "0x1", VALUE)
    client("evm_mine")
    account = client("eth_getAccount", str(LOGGER), "latest")
    assert account["storageRoot"] == client("eth_getProof", str(LOGGER), [])["storageHash"]
    assert account["storageRoot"] != hexed(EMPTY_ROOT)
    assert client("eth_getAccount", str(LOGGER), "0x0")["storageRoot"] == hexed(EMPTY_ROOT)


def test_an_account_that_is_not_there_is_null(client: Client) -> None:
    assert client("eth_getAccount", str(NOBODY)) is None
    with pytest.raises(RpcError):
        client("eth_getAccount", str(NOBODY), "0x64")


def test_slots_of_several_contracts_are_read_at_once(client: Client) -> None:
    client("anvil_setStorageAt", str(LOGGER), "0x1", VALUE)
    asked = {LOGGER.checksummed(): [SLOT, "0x2", "0x1"], str(NOBODY): ["0x0"], str(ALICE): []}
    assert client("eth_getStorageValues", asked, "latest") == {
        str(LOGGER): [VALUE, EMPTY, VALUE],
        str(NOBODY): [EMPTY],
        str(ALICE): [],
    }


def test_slots_are_read_at_any_block(client: Client) -> None:
    client("anvil_setStorageAt", str(LOGGER), "0x1", VALUE)
    client("evm_mine")
    assert client("eth_getStorageValues", {str(LOGGER): [SLOT]}, "0x0") == {str(LOGGER): [EMPTY]}
    assert client("eth_getStorageValues", {str(LOGGER): [SLOT]}) == {str(LOGGER): [VALUE]}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "empty request"),
        ({str(LOGGER): []}, "empty request"),
        ({str(LOGGER): ["0x0"] * 1_000, str(ALICE): ["0x0"] * 25}, "too many slots (max 1024)"),
        ({"0x12": ["0x0"]}, "params[0]: an address is 20 bytes, got 1"),
        ({str(LOGGER): "0x0"}, "params[0][...]: expected `array`, got `str`"),
        ({str(LOGGER): ["0x" + "00" * 33]}, "params[0][...][0]: a quantity is 1 to 64 digits"),
    ],
)
def test_a_request_for_slots_has_some_and_not_too_many(
    client: Client, asked: object, message: str
) -> None:
    with pytest.raises(RpcError) as rejection:
        client("eth_getStorageValues", asked)
    assert rejection.value.code == -32602
    assert rejection.value.message.startswith(message)


def test_the_bytes_of_a_transaction_are_found_by_its_place(client: Client) -> None:
    send(client)
    block = client("eth_getBlockByNumber", "0x1", False)["hash"]
    raw = hexed(transaction(0).raw)
    assert client("eth_getRawTransactionByBlockNumberAndIndex", "0x1", "0x0") == raw
    assert client("eth_getRawTransactionByBlockHashAndIndex", block, "0x0") == raw
    assert client("eth_getRawTransactionByBlockNumberAndIndex", "0x1", "0x1") is None
    assert client("eth_getRawTransactionByBlockNumberAndIndex", "0x9", "0x0") is None
    assert client("eth_getRawTransactionByBlockHashAndIndex", EMPTY, "0x0") is None


def test_no_block_has_uncles(client: Client) -> None:
    genesis = client("eth_getBlockByNumber", "0x0", False)["hash"]
    assert client("eth_getUncleCountByBlockNumber", "0x0") == "0x0"
    assert client("eth_getUncleCountByBlockHash", genesis) == "0x0"
    assert client("eth_getUncleByBlockNumberAndIndex", "0x0", "0x0") is None
    assert client("eth_getUncleByBlockHashAndIndex", genesis, "0x0") is None


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getWork", []),
        ("eth_submitWork", ["0x0000000000000001", EMPTY, EMPTY]),
        ("eth_submitHashrate", ["0x1", EMPTY]),
    ],
)
def test_nobody_mines(client: Client, method: str, params: list[object]) -> None:
    with pytest.raises(RpcError) as rejection:
        client(method, *params)
    assert rejection.value.code == -32603
    assert rejection.value.message == "Not implemented: blocks are sealed, not mined"
    assert (client("eth_mining"), client("eth_hashrate")) == (False, "0x0")


def test_the_namespaces_are_told(client: Client) -> None:
    assert client("rpc_modules") == dict.fromkeys(
        ["anvil", "eth", "evm", "hardhat", "net", "personal", "rpc", "txpool", "web3"], "1.0"
    )
