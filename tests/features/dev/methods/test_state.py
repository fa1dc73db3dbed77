"""State edits."""

from __future__ import annotations

from typing import Any

import pytest

from entresol.primitives.transactions.system import SYSTEM_SENDER
from tests.support.chain.api_client import ApiClient, importing_api
from tests.support.chain.dev_chain import ALICE, NOBODY, transaction
from tests.support.rpc_client import RpcError

WORD = "0x" + "22" * 32

SETTERS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("anvil_setBalance", ("0x7",), None),
    ("anvil_setNonce", ("0x5",), None),
    ("anvil_setCode", ("0x6001",), None),
    ("anvil_setStorageAt", ("0x1", WORD), True),
    ("hardhat_setBalance", ("0x7",), True),
    ("hardhat_setNonce", ("0x5",), True),
    ("hardhat_setCode", ("0x6001",), True),
    ("hardhat_setStorageAt", ("0x1", WORD), True),
    ("evm_setAccountBalance", ("0x7",), None),
    ("evm_setAccountNonce", ("0x5",), None),
    ("evm_setAccountCode", ("0x6001",), None),
    ("tenderly_setBalance", ("0x7",), None),
]


@pytest.mark.parametrize(("method", "params", "result"), SETTERS)
def test_hardhat_answers_true_and_the_others_as_anvil(
    client: ApiClient, method: str, params: tuple[Any, ...], result: object
) -> None:
    assert client(method, str(NOBODY), *params) is result


@pytest.mark.parametrize("prefix", ["anvil", "hardhat"])
def test_accounts_are_edited_without_a_block(client: ApiClient, prefix: str) -> None:
    address = str(NOBODY)
    client(f"{prefix}_setBalance", address, "0x7")
    client(f"{prefix}_setNonce", address, "0x5")
    client(f"{prefix}_setCode", address, "0x6001")
    client(f"{prefix}_setStorageAt", address, "0x1", WORD)
    info = {"balance": "0x7", "nonce": "0x5", "code": "0x6001"}
    assert client("eth_getAccountInfo", address) == info
    assert client("eth_getStorageAt", address, "0x1") == WORD
    assert client.chain.number == 0


@pytest.mark.parametrize("number", [16, "16", "0x10", "0x010"])
def test_numbers_have_any_form(client: ApiClient, number: object) -> None:
    address = str(NOBODY)
    client("anvil_setBalance", address, number)
    client("anvil_setNonce", address, number)
    client("anvil_setStorageAt", address, number, WORD)
    assert client("eth_getBalance", address) == client("eth_getTransactionCount", address) == "0x10"
    assert client("eth_getStorageAt", address, 16) == WORD


@pytest.mark.parametrize("number", [-1, 1.5, 2**64, "0x" + "f" * 65, "ten", True, None])
def test_what_is_no_number_is_rejected(client: ApiClient, number: object) -> None:
    assert client.error("anvil_setBalance", str(NOBODY), number).code == -32602


@pytest.mark.parametrize("value", ["0x2a", "0x", 42, "0x" + "22" * 33])
def test_a_slot_is_set_to_32_bytes(client: ApiClient, value: object) -> None:
    assert client.error("anvil_setStorageAt", str(NOBODY), 0, value).code == -32602


@pytest.mark.parametrize("prefix", ["anvil", "hardhat", "tenderly"])
def test_a_balance_grows_up_to_the_largest(client: ApiClient, prefix: str) -> None:
    address = str(NOBODY)
    client(f"{prefix}_addBalance", address, 5)
    client(f"{prefix}_addBalance", address, "0x2")
    assert client("eth_getBalance", address) == "0x7"
    client(f"{prefix}_addBalance", address, "0x" + "f" * 64)
    assert client("eth_getBalance", address) == "0x" + "f" * 64


def test_a_nonce_falls_by_anvil_alone(client: ApiClient) -> None:
    client("anvil_setNonce", str(NOBODY), 5)
    client("anvil_setNonce", str(NOBODY), 3)
    with pytest.raises(RpcError, match="must not be smaller than the existing nonce") as rejection:
        client("hardhat_setNonce", str(NOBODY), 2)
    assert rejection.value.code == -32000


def test_hardhat_sets_no_nonce_while_transactions_are_pending(client: ApiClient) -> None:
    client("evm_setAutomine", False)
    client.chain.add(transaction(0))
    with pytest.raises(RpcError, match="transaction pool is not empty") as rejection:
        client("hardhat_setNonce", str(ALICE), 9)
    assert rejection.value.code == -32000
    assert client("anvil_setNonce", str(ALICE), 9) is None


@pytest.mark.parametrize("method", ["anvil_setNonce", "hardhat_setNonce", "evm_setAccountNonce"])
def test_its_nonce_is_not_set_by_hand(method: str) -> None:
    """The sender of system transactions."""
    with (
        importing_api() as client,
        pytest.raises(RpcError, match="only the node itself sends"),
    ):
        client(method, str(SYSTEM_SENDER), "0x99")
