"""Fees of blocks on both sides of the anchor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.fork.past import ANCHOR, ForkClient, PastBlocks, forked
from tests.support.rpc_client import RpcError


@pytest.fixture
def fork(past: PastBlocks) -> Iterator[ForkClient]:
    """Return a fork with three blocks of its own."""
    with forked(past.client, ANCHOR) as client:
        client("anvil_mine", 3)
        yield client


def test_a_history_across_the_anchor_is_joined(past: PastBlocks, fork: ForkClient) -> None:
    found = fork("eth_feeHistory", 6, "latest", [10, 50])
    below = past.client("eth_feeHistory", 3, hex(ANCHOR), [10, 50])
    above = fork("eth_feeHistory", 3, "latest", [10, 50])
    assert found["oldestBlock"] == hex(ANCHOR - 2) == below["oldestBlock"]
    assert found["gasUsedRatio"] == below["gasUsedRatio"] + above["gasUsedRatio"]
    assert found["reward"] == below["reward"] + above["reward"]
    assert found["baseFeePerGas"] == below["baseFeePerGas"][:3] + above["baseFeePerGas"]
    assert len(found["baseFeePerGas"]) == len(found["baseFeePerBlobGas"]) == 7
    assert len(found["blobGasUsedRatio"]) == 6


def test_a_history_below_the_anchor_is_the_remotes(past: PastBlocks, fork: ForkClient) -> None:
    for newest in ("0x4", hex(ANCHOR), "earliest"):
        named = "0x0" if newest == "earliest" else newest
        expected = past.client("eth_feeHistory", 3, named, [50])
        assert fork("eth_feeHistory", 3, newest, [50]) == expected


def test_a_history_above_the_anchor_does_not_ask_the_remote(fork: ForkClient) -> None:
    assert len(fork("eth_feeHistory", 3, "latest")["gasUsedRatio"]) == 3
    assert len(fork("eth_feeHistory", "0x2", hex(ANCHOR + 2))["gasUsedRatio"]) == 2
    assert not fork.remote.asked


def test_whatever_reaches_below_the_anchor_needs_one_response(
    past: PastBlocks, fork: ForkClient
) -> None:
    """So that a recorded fork has it, however many blocks a run without the remote has sealed when a client asks."""
    for count in (6, 6, 6, 5, 9):
        found = fork("eth_feeHistory", count, "latest", [50])
        local = int(fork("eth_blockNumber"), 16) - ANCHOR
        assert len(found["gasUsedRatio"]) == count
        if local < count:
            below = past.client("eth_feeHistory", count - local, hex(ANCHOR), [50])
            above = fork("eth_feeHistory", local, "latest", [50])
            assert found["oldestBlock"] == below["oldestBlock"]
            assert found["baseFeePerGas"] == below["baseFeePerGas"][:-1] + above["baseFeePerGas"]
            assert found["reward"] == below["reward"] + above["reward"]
        fork("anvil_mine", 1)
    assert [method for method, _ in fork.remote.kept] == ["eth_feeHistory"]


def test_a_history_longer_than_the_chain_begins_with_the_first_block(fork: ForkClient) -> None:
    found = fork("eth_feeHistory", 1_024, "latest")
    assert found["oldestBlock"] == "0x0"
    assert len(found["gasUsedRatio"]) == ANCHOR + 1 + 3


def test_a_remote_without_blobs_and_rewards_is_completed(fork: ForkClient) -> None:
    def bare(_params: Any, found: dict[str, Any]) -> dict[str, Any]:
        return {key: found[key] for key in ("oldestBlock", "baseFeePerGas", "gasUsedRatio")}

    fork.remote.results["eth_feeHistory"] = bare
    found = fork("eth_feeHistory", 5, "latest", [10, 50])
    assert found["reward"][:2] == [["0x0", "0x0"]] * 2
    assert found["baseFeePerBlobGas"][:2] == ["0x0"] * 2
    assert len(found["reward"]) == 5
    assert len(found["baseFeePerBlobGas"]) == 6


def test_wrong_requests_and_wrong_results_are_rejected(fork: ForkClient) -> None:
    with pytest.raises(RpcError):
        fork("eth_feeHistory", 6, "latest", [50, 10])
    with pytest.raises(RpcError):
        fork("eth_feeHistory", 6, hex(ANCHOR + 100))
    assert not fork.remote.asked
    fork.remote.results["eth_feeHistory"] = lambda _params, _found: {"oldestBlock": 5}
    with pytest.raises(RpcError, match="wrong result"):
        fork("eth_feeHistory", 6, "latest")


def _without_blobs_and_next(_: object, fees: Any) -> Any:
    """Return what is proven: not what the fork's next block has, nor prices of blobs."""
    return {
        "oldestBlock": fees["oldestBlock"],
        "baseFeePerGas": fees["baseFeePerGas"][:-1],
        "gasUsedRatio": fees["gasUsedRatio"],
        "reward": fees["reward"],
    }


def test_of_what_is_proven_the_fork_itself_says_the_next_base_fee(
    past: PastBlocks, fork: ForkClient
) -> None:
    fork.remote.verifies = True
    fork.remote.results["eth_feeHistory"] = _without_blobs_and_next
    found = fork("eth_feeHistory", 3, hex(ANCHOR))
    below = past.client("eth_feeHistory", 3, hex(ANCHOR))
    own = fork("eth_feeHistory", 1, hex(ANCHOR + 1))["baseFeePerGas"][0]
    assert found["baseFeePerGas"] == [*below["baseFeePerGas"][:3], own]


def test_prices_of_blobs_without_a_proof_are_left_out_and_not_zero(fork: ForkClient) -> None:
    fork.remote.verifies = True
    fork.remote.results["eth_feeHistory"] = _without_blobs_and_next
    found = fork("eth_feeHistory", 6, "latest")
    assert len(found["baseFeePerGas"]) == 7
    assert not any("lob" in name for name in found)
