"""Balances and allowances of tokens."""

from __future__ import annotations

import pytest

from entresol.contracts import artifact
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, BOB
from tests.support.rpc_client import RpcError

TOKEN = "0x" + "70" * 20
PROXY = "0x" + "71" * 20
# Returns the upper half of slot 0 as every balance.
PACKED = "0x5f5460801c5f5260205ff3"
# Calls another token's code with its own storage (EIP-1167).
FORWARDS = "0x363d3d373d3d3d363d73" + TOKEN[2:] + "5af43d82803e903d91602b57fd5bf3"


def words(*addresses: object) -> str:
    return "".join(str(address)[2:].rjust(64, "0") for address in addresses)


def balance(client: ApiClient, token: str) -> int:
    return int(client("eth_call", {"to": token, "data": "0x70a08231" + words(BOB)}), 16)


@pytest.fixture(autouse=True)
def token(client: ApiClient) -> None:
    """Put a token and a proxy of it on the chain."""
    client("anvil_setCode", TOKEN, str(artifact("TestERC20").runtime))
    client("anvil_setCode", PROXY, FORWARDS)


@pytest.mark.parametrize("address", [TOKEN, PROXY])
@pytest.mark.parametrize(
    ("method", "result"),
    [("anvil_dealERC20", None), ("anvil_setERC20Balance", None), ("hardhat_dealERC20", True)],
)
def test_a_balance_is_set(client: ApiClient, address: str, method: str, result: object) -> None:
    assert client(method, str(BOB), address, "1000000") is result
    assert balance(client, address) == 1_000_000
    assert client(method, str(BOB), address, 0) is result
    assert balance(client, address) == 0


def test_an_allowance_is_set(client: ApiClient) -> None:
    assert client("anvil_setERC20Allowance", str(ALICE), str(BOB), TOKEN, 77) is None
    allowed = client("eth_call", {"to": TOKEN, "data": "0xdd62ed3e" + words(ALICE, BOB)})
    assert int(allowed, 16) == 77


@pytest.mark.parametrize("code", [PACKED, "0x", "0x5f5ffd"])
def test_a_token_without_such_a_slot_is_rejected(client: ApiClient, code: str) -> None:
    client("anvil_setCode", TOKEN, code)
    with pytest.raises(RpcError, match="Unable to set ERC20 balance, no slot found") as rejection:
        client("anvil_dealERC20", str(BOB), TOKEN, 5)
    assert rejection.value.code == -32603
    with pytest.raises(RpcError, match="Unable to set ERC20 allowance, no slot found"):
        client("anvil_setERC20Allowance", str(ALICE), str(BOB), TOKEN, 5)


@pytest.mark.parametrize("address", [TOKEN, PROXY])
def test_tenderly_names_the_token_first(client: ApiClient, address: str) -> None:
    assert client("tenderly_setErc20Balance", address, str(BOB), "0x7") is None
    assert balance(client, address) == 7
    assert client("tenderly_addErc20Balance", address, str(BOB), "0x5") is None
    assert balance(client, address) == 12
    assert client("tenderly_setMaxErc20Balance", address, str(BOB)) is None
    assert balance(client, address) == 2**256 - 1


def test_a_balance_of_a_token_grows_up_to_the_largest(client: ApiClient) -> None:
    client("tenderly_setErc20Balance", TOKEN, str(BOB), hex(2**256 - 3))
    client("tenderly_addErc20Balance", TOKEN, str(BOB), "0x9")
    assert balance(client, TOKEN) == 2**256 - 1


def test_several_accounts_are_set_at_once(client: ApiClient) -> None:
    client("tenderly_addErc20Balance", TOKEN, [str(ALICE), str(BOB), str(BOB)], "0x9")
    for account in (ALICE, BOB):
        held = client("eth_call", {"to": TOKEN, "data": "0x70a08231" + words(account)})
        assert int(held, 16) == 9


@pytest.mark.parametrize("accounts", [[], ["0x" + "11" * 20] * 101, ["0x11"], "0x11", 5, None])
def test_accounts_are_addresses_and_not_too_many(client: ApiClient, accounts: object) -> None:
    assert client.error("tenderly_setErc20Balance", TOKEN, accounts, "0x7").code == -32602


def test_no_account_is_set_if_one_has_no_slot(client: ApiClient) -> None:
    client("anvil_setCode", TOKEN, PACKED)
    with pytest.raises(RpcError, match="no slot found"):
        client("tenderly_setErc20Balance", TOKEN, [str(ALICE), str(BOB)], "0x7")
    assert client("eth_getStorageAt", TOKEN, "0x0") == "0x" + "00" * 32


def test_a_slot_that_makes_nothing_zero_is_not_taken_for_a_balance(client: ApiClient) -> None:
    # Slot 0 is a switch: while it is zero, every balance is.
    switch = "0x5f54600c575f5f5260205ff35b6004355f5260205f20545f5260205ff3"
    client("anvil_setCode", TOKEN, switch)
    client("anvil_setStorageAt", TOKEN, "0x0", "0x" + "00" * 31 + "01")
    client("anvil_dealERC20", str(BOB), TOKEN, 0)
    assert int(client("eth_getStorageAt", TOKEN, "0x0"), 16) == 1
