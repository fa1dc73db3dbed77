"""Hardhat's errors: of the transaction that failed, and of no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.node.config.api import ApiConfig
from entresol.primitives.values import Address
from tests.support.chain.api_client import TARGET, ApiClient, running_api
from tests.support.chain.dev_chain import ALICE
from tests.support.chain.steering import revert, set_code
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError

FAILING = {"from": hexed(ALICE), "to": TARGET, "gas": "0x30000"}
GOOD = {"from": hexed(ALICE), "to": hexed(ALICE)}
REVERTING = "0x5f5ffd"


@pytest.fixture
def hardhat() -> Iterator[ApiClient]:
    with running_api(config=ApiConfig(hardhat_errors=True)) as client:
        set_code(client.chain, Address.parse(TARGET), REVERTING)
        client.chain.builder.seal()
        yield client


def failed(client: ApiClient) -> RpcError:
    with pytest.raises(RpcError, match="Transaction reverted without a reason") as failure:
        client("eth_sendTransaction", FAILING)
    return failure.value


def test_a_good_transaction_has_its_hash_after_a_failed_one_was_reverted(
    hardhat: ApiClient,
) -> None:
    mark = hardhat.chain.history.mark()
    failed(hardhat)
    revert(hardhat.chain, mark)
    sent = hardhat("eth_sendTransaction", GOOD)
    assert hardhat("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_a_failed_one_has_its_error_after_a_good_one_was_reverted(hardhat: ApiClient) -> None:
    mark = hardhat.chain.history.mark()
    hardhat("eth_sendTransaction", GOOD)
    revert(hardhat.chain, mark)
    hashes = {failed(hardhat).data["txHash"], failed(hardhat).data["txHash"]}
    assert len(hashes) == 2


def test_the_same_failing_transaction_fails_again_after_a_revert(hardhat: ApiClient) -> None:
    mark = hardhat.chain.history.mark()
    first = failed(hardhat)
    revert(hardhat.chain, mark)
    assert failed(hardhat).data["txHash"] == first.data["txHash"]


def test_the_same_transaction_succeeds_after_a_revert_if_its_contract_has_changed(
    hardhat: ApiClient,
) -> None:
    mark = hardhat.chain.history.mark()
    first = failed(hardhat)
    revert(hardhat.chain, mark)
    set_code(hardhat.chain, Address.parse(TARGET), "0x00")
    assert hardhat("eth_sendTransaction", FAILING) == first.data["txHash"]
