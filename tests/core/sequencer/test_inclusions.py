"""Hardhat's errors: of the transaction that failed, and of no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.node.config.api import ApiConfig
from tests.support.chain.api_client import TARGET, ApiClient, running_api, send
from tests.support.chain.dev_chain import ALICE
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError

FAILING = {"from": hexed(ALICE), "to": TARGET, "gas": "0x30000"}
GOOD = {"from": hexed(ALICE), "to": hexed(ALICE)}
REVERTING = "0x5f5ffd"


@pytest.fixture
def hardhat() -> Iterator[ApiClient]:
    with running_api(config=ApiConfig(hardhat_errors=True)) as client:
        client("anvil_setCode", TARGET, REVERTING)
        client("evm_mine")
        yield client


def failed(client: ApiClient) -> RpcError:
    with pytest.raises(RpcError, match="Transaction reverted without a reason") as failure:
        client("eth_sendTransaction", FAILING)
    return failure.value


def test_a_good_transaction_has_its_hash_after_a_failed_one_was_reverted(
    hardhat: ApiClient,
) -> None:
    snapshot = hardhat("evm_snapshot")
    failed(hardhat)
    assert hardhat("evm_revert", snapshot)
    sent = hardhat("eth_sendTransaction", GOOD)
    assert hardhat("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_a_failed_one_has_its_error_after_a_good_one_was_reverted(hardhat: ApiClient) -> None:
    snapshot = hardhat("evm_snapshot")
    hardhat("eth_sendTransaction", GOOD)
    hardhat("evm_revert", snapshot)
    hashes = {failed(hardhat).data["txHash"], failed(hardhat).data["txHash"]}
    assert len(hashes) == 2


def test_the_same_failing_transaction_fails_again_after_a_revert(hardhat: ApiClient) -> None:
    snapshot = hardhat("evm_snapshot")
    first = failed(hardhat)
    hardhat("evm_revert", snapshot)
    assert failed(hardhat).data["txHash"] == first.data["txHash"]


def test_the_same_transaction_succeeds_after_a_revert_if_its_contract_has_changed(
    hardhat: ApiClient,
) -> None:
    snapshot = hardhat("evm_snapshot")
    first = failed(hardhat)
    hardhat("evm_revert", snapshot)
    hardhat("anvil_setCode", TARGET, "0x00")
    assert hardhat("eth_sendTransaction", FAILING) == first.data["txHash"]


def test_a_raw_transaction_has_its_hash_after_a_reorg(hardhat: ApiClient) -> None:
    failed(hardhat)
    hardhat("anvil_reorg", 1, [])
    nonce = int(hardhat("eth_getTransactionCount", hexed(ALICE), "latest"), 16)
    sent = send(hardhat, nonce)
    assert hardhat("eth_getTransactionReceipt", sent)["status"] == "0x1"
