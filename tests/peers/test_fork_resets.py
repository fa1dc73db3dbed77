"""Settings of a client that outlive `anvil_reset` of a fork, its tags and its proofs, beside anvil's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.inprocess_node import inprocess_anvil
from tests.support.rpc_client import RpcError

pytestmark = pytest.mark.peer

SOMEBODY = "0x" + "ab" * 20
BLOCK = 3
BLOCKS = 50
INTERVAL = 1_000


@pytest.fixture(scope="module")
def remote() -> Iterator[Anvil]:
    with inprocess_anvil("anvil", "--chain-id", "99", "--timestamp", "1700000000") as node:
        node("anvil_mine", hex(BLOCKS))
        yield node


@pytest.fixture(scope="module", params=["anvil", "entresol"])
def fork(remote: Anvil, request: pytest.FixtureRequest) -> Iterator[Anvil]:
    flags = ("--fork-url", remote.url, "--no-storage-caching")
    is_peer = request.param == "anvil"
    with running_anvil(*flags) if is_peer else inprocess_anvil("anvil", *flags) as node:
        yield node


@pytest.fixture(params=["url and number", "number", "nothing else", "the fork ends"])
def options(remote: Anvil, request: pytest.FixtureRequest) -> list[Any]:
    target = {"jsonRpcUrl": remote.url, "blockNumber": BLOCK}
    options: dict[str, list[Any]] = {
        "url and number": [{"forking": target}],
        "number": [{"forking": {"blockNumber": BLOCK}}],
        "nothing else": [{"forking": {}}],
        "the fork ends": [],
    }
    return options[request.param]


@pytest.fixture(autouse=True)
def again(fork: Anvil, remote: Anvil) -> Iterator[None]:
    yield
    fork("evm_setAutomine", True)
    fork("anvil_setCoinbase", "0x" + "00" * 20)
    fork("anvil_removeBlockTimestampInterval")
    fork("anvil_autoImpersonateAccount", False)
    fork("anvil_stopImpersonatingAccount", SOMEBODY)
    fork("anvil_reset", {"forking": {"jsonRpcUrl": remote.url, "blockNumber": BLOCK}})


def test_an_edit_is_in_the_proof_of_the_latest_block_before_the_next(fork: Anvil) -> None:
    # Of the block that it stands on, anvil proves what the remote has.
    fork("evm_mine")
    fork("anvil_setBalance", SOMEBODY, "0x7")
    assert fork("eth_getProof", SOMEBODY, [], "latest")["balance"] == "0x7"


def test_safe_and_finalized_are_32_and_64_blocks_before_the_head(
    remote: Anvil, fork: Anvil
) -> None:
    fork("anvil_reset", {"forking": {"jsonRpcUrl": remote.url, "blockNumber": BLOCKS}})
    for number, names in ((BLOCKS, (18, 0)), (BLOCKS + 20, (38, 6))):
        fork("anvil_mine", hex(number - int(fork("eth_blockNumber"), 16)))
        for tag, expected in zip(("safe", "finalized"), names, strict=True):
            block = fork("eth_getBlockByNumber", tag, False)
            assert block["hash"] == remote("eth_getBlockByNumber", hex(expected), False)["hash"]


def mined(fork: Anvil) -> dict[str, Any]:
    fork("evm_mine")
    block: dict[str, Any] = fork("eth_getBlockByNumber", "latest", False)
    return block


def can_send(fork: Anvil) -> bool:
    fork("anvil_setBalance", SOMEBODY, hex(10**18))
    try:
        fork("eth_sendTransaction", {"from": SOMEBODY, "to": SOMEBODY})
    except RpcError:
        return False
    return True


def test_automine_stays_off(fork: Anvil, options: list[Any]) -> None:
    fork("evm_setAutomine", False)
    fork("anvil_reset", *options)
    assert fork("anvil_getAutomine") is False
    sent = fork("eth_sendTransaction", {"from": fork("eth_accounts")[0], "to": SOMEBODY})
    assert fork("eth_getTransactionReceipt", sent) is None
    fork("evm_mine")
    assert fork("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_an_interval_of_mining_stays(fork: Anvil, options: list[Any]) -> None:
    fork("anvil_setIntervalMining", INTERVAL)
    fork("anvil_reset", *options)
    assert (fork("anvil_getAutomine"), fork("anvil_getIntervalMining")) == (False, INTERVAL)


def test_who_receives_fees_and_how_far_apart_blocks_are_stays(
    fork: Anvil, options: list[Any]
) -> None:
    fork("anvil_setCoinbase", SOMEBODY)
    fork("anvil_setBlockTimestampInterval", INTERVAL)
    fork("anvil_reset", *options)
    first, second = mined(fork), mined(fork)
    assert first["miner"] == second["miner"] == SOMEBODY
    assert int(second["timestamp"], 16) - int(first["timestamp"], 16) == INTERVAL


@pytest.mark.parametrize(
    "request_", [("anvil_impersonateAccount", SOMEBODY), ("anvil_autoImpersonateAccount", True)]
)
def test_who_is_impersonated_stays(
    fork: Anvil, options: list[Any], request_: tuple[str, Any]
) -> None:
    assert not can_send(fork)
    fork(*request_)
    fork("anvil_reset", *options)
    assert can_send(fork)
