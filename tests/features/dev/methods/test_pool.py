"""Dropping transactions from the pool."""

from __future__ import annotations

import pytest

from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, NOBODY, transaction
from tests.support.rpc_client import RpcError


@pytest.fixture
def pending(client: ApiClient) -> list[str]:
    """Return the hashes of three pending transactions."""
    client("evm_setAutomine", False)
    sent = [transaction(nonce) for nonce in range(3)]
    for one in sent:
        client.chain.add(one)
    return [str(one.hash) for one in sent]


def test_anvil_returns_the_hash_of_what_it_drops(client: ApiClient, pending: list[str]) -> None:
    assert client("anvil_dropTransaction", pending[2]) == pending[2]
    assert client("anvil_dropTransaction", pending[2]) is None
    assert len(client.chain.pool) == 2


def test_hardhat_says_whether_it_dropped_it(client: ApiClient, pending: list[str]) -> None:
    assert client("hardhat_dropTransaction", pending[2]) is True
    assert client("hardhat_dropTransaction", pending[2]) is False


def test_hardhat_drops_nothing_that_is_in_a_block(client: ApiClient, pending: list[str]) -> None:
    client("evm_mine")
    with pytest.raises(RpcError, match="cannot be dropped because it's already mined") as rejection:
        client("hardhat_dropTransaction", pending[0])
    assert rejection.value.code == -32000


@pytest.mark.usefixtures("pending")
@pytest.mark.parametrize(
    ("method", "result"),
    [("anvil_dropAllTransactions", None), ("hardhat_dropAllTransactions", True)],
)
def test_all_are_dropped(client: ApiClient, method: str, result: object) -> None:
    assert client(method) is result
    assert len(client.chain.pool) == 0


@pytest.mark.usefixtures("pending")
def test_those_of_a_sender_are_dropped(client: ApiClient) -> None:
    assert client("anvil_removePoolTransactions", str(NOBODY)) is None
    assert len(client.chain.pool) == 3
    assert client("anvil_removePoolTransactions", str(ALICE)) is None
    assert len(client.chain.pool) == 0
