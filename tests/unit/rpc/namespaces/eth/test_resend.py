"""Pending transactions at another price."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, BOB, FEE, NOBODY
from tests.support.rpc_client import RpcError

GIVEN = {"from": str(ALICE), "to": str(BOB), "value": "0x1", "nonce": "0x0"}


@pytest.fixture(autouse=True)
def manual(client: ApiClient) -> None:
    """Let transactions wait."""
    client("evm_setAutomine", False)


def pending(client: ApiClient) -> dict[str, Any]:
    """Return the only pending transaction."""
    (only,) = client("eth_pendingTransactions")
    found: dict[str, Any] = only
    return found


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        ("0x0", ["gasPrice"]),
        ("0x1", ["gasPrice"]),
        ("0x2", ["maxFeePerGas", "maxPriorityFeePerGas"]),
    ],
)
def test_a_transaction_is_replaced_by_one_at_another_price(
    client: ApiClient, kind: str, members: list[str]
) -> None:
    first = client("eth_sendTransaction", {**GIVEN, "type": kind})
    again = client("eth_resend", GIVEN, hex(3 * FEE), "0x7530")
    found = pending(client)
    assert again == found["hash"] != first
    assert {found[name] for name in members} == {hex(3 * FEE)}
    assert (found["gas"], found["type"]) == ("0x7530", kind)
    assert (found["to"], found["value"], found["nonce"]) == (str(BOB), "0x1", "0x0")
    client("evm_mine")
    assert client("eth_getTransactionReceipt", again)["status"] == "0x1"


def test_a_limit_that_is_not_given_stays(client: ApiClient) -> None:
    client("eth_sendTransaction", {**GIVEN, "gas": "0x7531"})
    client("eth_resend", GIVEN, hex(3 * FEE), "0x0")
    assert pending(client)["gas"] == "0x7531"


def test_one_that_is_the_same_is_known(client: ApiClient) -> None:
    client("eth_sendTransaction", GIVEN)
    with pytest.raises(RpcError, match="already known"):
        client("eth_resend", GIVEN)


def test_a_price_that_is_hardly_higher_is_rejected(client: ApiClient) -> None:
    client("eth_sendTransaction", {**GIVEN, "maxFeePerGas": hex(3 * FEE)})
    with pytest.raises(RpcError, match="replacement transaction underpriced"):
        client("eth_resend", GIVEN, hex(3 * FEE + 1))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({**GIVEN, "nonce": "0x1"}, f"the one with nonce 1 of {ALICE} is not in the pool"),
        (
            {**GIVEN, "value": "0x2"},
            f"the one with nonce 0 of {ALICE} has another value in the pool",
        ),
        ({**GIVEN, "to": str(NOBODY)}, "has another to in the pool"),
        ({**GIVEN, "data": "0x01"}, "has another data in the pool"),
        ({"from": str(ALICE)}, "nonce: is missing"),
        ({"from": str(NOBODY), "nonce": "0x0"}, "unknown account"),
    ],
)
def test_one_that_is_not_there_is_rejected(
    client: ApiClient, given: dict[str, str], problem: str
) -> None:
    client("eth_sendTransaction", GIVEN)
    with pytest.raises(RpcError) as rejection:
        client("eth_resend", given, hex(3 * FEE))
    assert rejection.value.code == -32000
    assert problem in rejection.value.message


def test_one_of_an_impersonated_account_is_sent_again_without_a_signature(
    client: ApiClient,
) -> None:
    client("anvil_setBalance", str(NOBODY), "0xde0b6b3a7640000")
    client("anvil_impersonateAccount", str(NOBODY))
    client("eth_sendTransaction", {**GIVEN, "from": str(NOBODY)})
    again = client("eth_resend", {**GIVEN, "from": str(NOBODY)}, hex(3 * FEE))
    client("evm_mine")
    assert client("eth_getTransactionByHash", again)["from"] == str(NOBODY)


def test_conditions_stay(client: ApiClient) -> None:
    sent = client("eth_signTransaction", {**GIVEN, "gas": "0x7530"})["raw"]
    client("eth_sendRawTransactionConditional", sent, {"blockNumberMax": "0x9"})
    client("eth_resend", GIVEN, hex(3 * FEE))
    (entry,) = client.chain.pool.listing().entries
    assert entry.transaction.conditions is not None
