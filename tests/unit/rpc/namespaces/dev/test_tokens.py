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
