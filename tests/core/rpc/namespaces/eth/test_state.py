"""Balances, nonces, code, storage and proofs over JSON-RPC."""

from __future__ import annotations

from typing import Any

import pytest

from entresol._native import EMPTY_ROOT, keccak256, rlp_encode, verify_proof
from entresol.primitives.values import Address
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE, LOGGER, NOBODY
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError


def test_a_proof_leads_from_the_state_root_to_the_account(client: ApiClient) -> None:
    send(client)
    root = client("eth_getBlockByNumber", "0x1", False)["stateRoot"]
    proof = client("eth_getProof", hexed(NOBODY), ["0x0"], "0x1")
    account = rlp_encode([b"", b"\x01", bytes.fromhex(proof["storageHash"][2:]), keccak256(b"")])
    nodes = [bytes.fromhex(node[2:]) for node in proof["accountProof"]]
    verify_proof(bytes.fromhex(root[2:]), keccak256(NOBODY), account, nodes)
    assert proof["storageProof"] == [{"key": hexed(bytes(32)), "value": "0x0", "proof": []}]


SLOT = "0x" + "00" * 31 + "01"
VALUE = "0x" + "22" * 32
EMPTY = "0x" + "00" * 32


def test_an_account_with_storage_has_the_root_that_proofs_have(client: ApiClient) -> None:
    client("anvil_setStorageAt", str(LOGGER), "0x1", VALUE)
    client("evm_mine")
    account = client("eth_getAccount", str(LOGGER), "latest")
    assert account["storageRoot"] == client("eth_getProof", str(LOGGER), [])["storageHash"]
    assert account["storageRoot"] != hexed(EMPTY_ROOT)
    assert client("eth_getAccount", str(LOGGER), "0x0")["storageRoot"] == hexed(EMPTY_ROOT)


EDITS = {
    "balance": ("anvil_setBalance", ["0x7"]),
    "nonce": ("anvil_setNonce", ["0x9"]),
    "code": ("anvil_setCode", ["0x6001"]),
    "slot": ("anvil_setStorageAt", ["0x1", VALUE]),
}


@pytest.mark.parametrize("address", [ALICE, LOGGER, NOBODY], ids=str)
@pytest.mark.parametrize("edit", EDITS)
def test_proofs_have_an_edit_before_its_block_as_after_it(
    client: ApiClient, edit: str, address: Address
) -> None:
    method, params = EDITS[edit]
    reads: list[tuple[str, list[Any]]] = [
        ("eth_getProof", [str(address), [SLOT]]),
        ("eth_getAccount", [str(address)]),
    ]
    send(client, wei=1)
    before = [client(name, *given) for name, given in reads]
    client(method, str(address), *params)
    found = [client(name, *given) for name, given in reads]
    assert found != before
    assert found == [client(name, *given, "0x1") for name, given in reads]
    client("evm_mine")
    assert found == [client(name, *given) for name, given in reads]


def test_proofs_of_the_pending_block_have_its_transactions(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    send(client, wei=5)
    for name, *more in (("eth_getProof", []), ("eth_getAccount",)):
        assert client(name, str(NOBODY), *more, "pending")["balance"] == "0x5"
    assert client("eth_getProof", str(NOBODY), [], "latest")["balance"] == "0x0"


def test_an_account_that_is_not_there_is_null(client: ApiClient) -> None:
    assert client("eth_getAccount", str(NOBODY)) is None
    with pytest.raises(RpcError):
        client("eth_getAccount", str(NOBODY), "0x64")


def test_slots_of_several_contracts_are_read_at_once(client: ApiClient) -> None:
    client("anvil_setStorageAt", str(LOGGER), "0x1", VALUE)
    slots = {LOGGER.checksummed(): [SLOT, "0x2", "0x1"], str(NOBODY): ["0x0"], str(ALICE): []}
    assert client("eth_getStorageValues", slots, "latest") == {
        str(LOGGER): [VALUE, EMPTY, VALUE],
        str(NOBODY): [EMPTY],
        str(ALICE): [],
    }


@pytest.mark.parametrize(
    ("slots", "message"),
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
    client: ApiClient, slots: object, message: str
) -> None:
    rejection = client.error("eth_getStorageValues", slots)
    assert rejection.code == -32602
    assert rejection.message.startswith(message)
