"""Transactions that are included only while conditions hold."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import LOGGER, NOBODY, transaction
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError

FIVE = "0x" + "00" * 31 + "05"
NOTHING = "0x" + "00" * 32
SLOT = {str(LOGGER): {"0x1": NOTHING}}


def submit(client: ApiClient, conditions: Any, nonce: int = 0) -> str:
    sent: str = client(
        "eth_sendRawTransactionConditional", hexed(transaction(nonce).raw), conditions
    )
    return sent


def included(client: ApiClient) -> list[str]:
    sealed: list[str] = client("eth_getBlockByNumber", "latest", False)["transactions"]
    return sealed


@pytest.mark.parametrize(
    "conditions",
    [
        None,
        {},
        {"blockNumberMin": 1, "blockNumberMax": "0x1"},
        {"timestampMin": "0x1", "timestampMax": 2**40},
        {"knownAccounts": SLOT},
        {"knownAccounts": {str(NOBODY): {}}},
    ],
)
def test_a_transaction_whose_conditions_hold_is_included(
    client: ApiClient, conditions: object
) -> None:
    sent = submit(client, conditions)
    assert included(client) == [sent] == [str(transaction(0).hash)]


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        ({"blockNumberMin": 2}, "the block number is 1, and at least 2 is wanted"),
        ({"blockNumberMax": 0}, "the block number is 1, and at most 0 is wanted"),
        ({"timestampMax": 9}, "and at most 9 is wanted"),
        ({"timestampMin": 2**40}, f"and at least {2**40} is wanted"),
        ({"knownAccounts": {str(LOGGER): {"0x1": FIVE}}}, f"is {NOTHING}, not {FIVE}"),
    ],
)
def test_one_whose_conditions_do_not_hold_is_rejected(
    client: ApiClient, conditions: object, problem: str
) -> None:
    with pytest.raises(RpcError) as rejection:
        submit(client, conditions)
    assert rejection.value.code == -32003
    assert rejection.value.message.startswith("transaction rejected: ")
    assert rejection.value.message.endswith(problem)
    assert len(client.chain.pool) == 0


def test_one_whose_conditions_no_longer_hold_is_dropped_and_may_be_sent_again(
    client: ApiClient,
) -> None:
    client("evm_setAutomine", False)
    submit(client, {"knownAccounts": SLOT})
    client("anvil_setStorageAt", str(LOGGER), "0x1", FIVE)
    client("evm_mine")
    assert included(client) == []
    assert len(client.chain.pool) == 0
    sent = submit(client, {"knownAccounts": {str(LOGGER): {"0x1": FIVE}}})
    client("evm_mine")
    assert included(client) == [sent]


def test_a_slot_is_compared_after_the_transactions_before_it(client: ApiClient) -> None:
    # Stores one in slot 1.
    client("anvil_setCode", str(NOBODY), "0x6001600155")
    client("evm_setAutomine", False)
    client("eth_sendRawTransaction", hexed(transaction(0).raw))
    submit(client, {"knownAccounts": {str(NOBODY): {"0x1": NOTHING}}}, nonce=1)
    client("evm_mine")
    assert included(client) == [str(transaction(0).hash)]
    assert len(client.chain.pool) == 0


def test_conditions_stay_with_a_transaction_over_a_revert(client: ApiClient) -> None:
    client("evm_setAutomine", False)
    submit(client, {"blockNumberMax": 1})
    snapshot = client("evm_snapshot")
    client("anvil_dropAllTransactions")
    client("evm_mine")
    client("evm_revert", snapshot)
    assert len(client.chain.pool) == 1
    (pending,) = client.chain.pool.listing().entries
    assert pending.transaction.conditions is not None


def test_a_condition_of_a_storage_root_is_rejected(client: ApiClient) -> None:
    with pytest.raises(RpcError, match="name the slots with their values") as rejection:
        submit(client, {"knownAccounts": {str(LOGGER): NOTHING}})
    assert rejection.value.code == -32602


def test_conditions_have_a_limit(client: ApiClient) -> None:
    slots = {hex(slot): NOTHING for slot in range(257)}
    with pytest.raises(RpcError, match=r"too many conditions \(max 256\): got 257") as rejection:
        submit(client, {"knownAccounts": {str(LOGGER): slots}})
    assert rejection.value.code == -32005


def test_what_the_pool_rejects_is_rejected(client: ApiClient) -> None:
    client("evm_setAutomine", False)
    submit(client, {"blockNumberMin": 1})
    with pytest.raises(RpcError, match="already known"):
        submit(client, {"blockNumberMin": 1})


def test_conditions_of_all_accounts_are_counted_before_they_are_read(client: ApiClient) -> None:
    accounts = {f"0x{it:040x}": {"0x1": "no word"} for it in range(257)}
    with pytest.raises(RpcError, match=r"too many conditions \(max 256\): got 257"):
        submit(client, {"knownAccounts": accounts})
    with pytest.raises(RpcError, match="got 257"):
        submit(client, {"knownAccounts": {account: {} for account in accounts}})


@pytest.mark.parametrize(
    "known", [[], {"0x12": {"0x1": NOTHING}}, {str(LOGGER): {"0x1": "0x12"}}, {str(LOGGER): 5}]
)
def test_known_accounts_of_another_form_are_rejected(client: ApiClient, known: object) -> None:
    with pytest.raises(RpcError, match="knownAccounts") as rejection:
        submit(client, {"knownAccounts": known})
    assert rejection.value.code == -32602


def test_a_condition_that_does_not_exist_is_named(client: ApiClient) -> None:
    with pytest.raises(RpcError, match="blockNumberMaximum") as rejection:
        submit(client, {"blockNumberMaximum": 9})
    assert rejection.value.code == -32602
    assert len(client.chain.pool) == 0
