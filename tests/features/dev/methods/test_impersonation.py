"""Impersonation, and a node without developer methods or with locked accounts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chain.api_client import ApiClient, running_api
from tests.support.chain.dev_chain import ALICE, ETHER, NOBODY
from tests.support.rpc_client import RpcError


def test_hardhat_says_whether_an_account_was_impersonated(client: ApiClient) -> None:
    address = str(NOBODY)
    assert client("anvil_impersonateAccount", address) is None
    assert client("anvil_stopImpersonatingAccount", address) is None
    assert client("hardhat_impersonateAccount", address) is True
    assert client("hardhat_stopImpersonatingAccount", address) is True
    assert client("hardhat_stopImpersonatingAccount", address) is False


@pytest.fixture
def without() -> Iterator[ApiClient]:
    with running_api(dev_methods=False) as client:
        yield client


@pytest.mark.parametrize(
    "method",
    ["evm_mine", "evm_snapshot", "anvil_setBalance", "anvil_impersonateAccount", "hardhat_mine"],
)
def test_all_of_it_can_be_turned_off(without: ApiClient, method: str) -> None:
    rejection = without.error(method)
    assert rejection.code == -32601
    assert rejection.message == f"the method {method} does not exist/is not available"
    assert not {"evm", "anvil", "hardhat", "tenderly"} & without("rpc_modules").keys()


def test_accounts_stay_when_it_is_turned_off(without: ApiClient) -> None:
    assert without("eth_sendTransaction", {"from": str(ALICE), "to": str(NOBODY)})


@pytest.fixture
def locked() -> Iterator[ApiClient]:
    with running_api(locked="strangers listen") as client:
        yield client


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_sendTransaction", [{"from": str(ALICE), "to": str(NOBODY)}]),
        ("eth_signTransaction", [{"from": str(ALICE), "to": str(NOBODY)}]),
        ("eth_sign", [str(ALICE), "0x"]),
        ("personal_sign", ["0x", str(ALICE)]),
        ("anvil_impersonateAccount", [str(NOBODY)]),
        ("hardhat_impersonateAccount", [str(NOBODY)]),
        ("anvil_autoImpersonateAccount", [True]),
    ],
)
def test_locked_accounts_are_rejected_with_the_reason(
    locked: ApiClient, method: str, params: list[object]
) -> None:
    assert locked("eth_accounts") == []
    rejection = locked.error(method, *params)
    assert rejection.code == -32000
    assert rejection.message == "the accounts of this node are locked: strangers listen"


STRANGER = "0x" + "ab" * 20


def test_any_account_sends_without_impersonation(client: ApiClient) -> None:
    client("anvil_setBalance", STRANGER, hex(ETHER))
    sent = client("eth_sendUnsignedTransaction", {"from": STRANGER, "to": str(NOBODY)})
    assert client("eth_getTransactionReceipt", sent)["from"] == STRANGER
    with pytest.raises(RpcError, match="unknown account"):
        client("eth_sendTransaction", {"from": STRANGER, "to": str(NOBODY)})


def test_the_first_account_sends_if_none_is_named(client: ApiClient) -> None:
    sent = client("eth_sendUnsignedTransaction", {"to": str(NOBODY)})
    assert client("eth_getTransactionReceipt", sent)["from"] == str(ALICE)


@pytest.mark.parametrize(
    ("locked", "dev_methods", "code"), [("strangers listen", True, -32000), (None, False, -32601)]
)
def test_nobody_sends_for_others_where_strangers_listen(
    locked: str | None, dev_methods: bool, code: int
) -> None:
    unsigned = {"from": STRANGER, "to": str(NOBODY)}
    with running_api(locked=locked, dev_methods=dev_methods) as client:
        assert client.error("eth_sendUnsignedTransaction", unsigned).code == code


@pytest.mark.parametrize("prefix", ["anvil", "hardhat"])
def test_an_impersonated_account_sends(client: ApiClient, prefix: str) -> None:
    stranger = "0x" + "ab" * 20
    transfer = {"from": stranger, "to": str(NOBODY), "value": "0x1"}
    client(f"{prefix}_setBalance", stranger, hex(ETHER))
    client(f"{prefix}_impersonateAccount", stranger)
    sent = client("eth_getTransactionByHash", client("eth_sendTransaction", transfer))
    assert (sent["from"], sent["blockNumber"]) == (stranger, "0x1")
    assert client("eth_getTransactionReceipt", sent["hash"])["from"] == stranger
    client(f"{prefix}_stopImpersonatingAccount", stranger)
    with pytest.raises(RpcError, match="unknown account"):
        client("eth_sendTransaction", transfer)
    with pytest.raises(RpcError, match="invalid signature"):
        client("eth_sendRawTransaction", client("eth_getRawTransactionByHash", sent["hash"]))
