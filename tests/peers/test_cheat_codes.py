"""Every cheat code on both layers and on a real anvil: the same request, the same result, the same effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.support.anvil import running_anvil
from tests.support.cheat_codes import (
    ALICE,
    CHEAT_CODES,
    DIFFERENCES,
    REVERTS,
    START,
    STRANGER,
    CheatCode,
    KnownDifference,
)
from tests.support.clients.layers import running_layers
from tests.support.rpc_client import HttpRpcClient, RpcError

pytestmark = pytest.mark.peer

SLACK = {"gap": 2, "timestamp": 2, "result": 1}
"""A second may pass between the requests, and quick blocks are a second apart here but have equal times in anvil."""


class Peers(NamedTuple):
    """Both layers and anvil."""

    l1: HttpRpcClient
    l2: HttpRpcClient
    anvil: HttpRpcClient


@pytest.fixture(scope="module")
def running() -> Iterator[Peers]:
    with running_layers("embedded", "--l1-delay", "0") as layers, running_anvil() as anvil:
        l1, l2 = HttpRpcClient(layers.l1_url), HttpRpcClient(layers.url)
        yield Peers(l1, l2, anvil)
        l1.close()
        l2.close()


@pytest.fixture
def peers(running: Peers) -> Iterator[Peers]:
    """Return the peers with a head of the same time, and revert them after the test."""
    # One snapshot of the pair covers both layers.
    snapshots = [
        (running.l2, running.l2("evm_snapshot")),
        (running.anvil, running.anvil("evm_snapshot")),
    ]
    for peer in running:
        peer("evm_mine", START)
    yield running
    for peer in running:
        peer("anvil_stopImpersonatingAccount", STRANGER)
        peer("anvil_removeBlockTimestampInterval")
        peer("evm_setIntervalMining", 0)
        peer("evm_setAutomine", True)
    for peer, snapshot in snapshots:
        assert peer("evm_revert", snapshot)


def outcome(peer: HttpRpcClient, method: str, params: list[Any]) -> Any:
    try:
        return peer(method, *params)
    except RpcError as error:
        return f"error {error.code}"


def seen(peer: HttpRpcClient, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of the last block; `gap` is how much later it is than its parent."""
    block = peer("eth_getBlockByNumber", "latest", False)
    parent = peer("eth_getBlockByHash", block["parentHash"], False)
    block["gap"] = int(block["timestamp"], 16) - int(parent["timestamp"], 16)
    block["timestamp"] = int(block["timestamp"], 16)
    block["transactions"] = len(block["transactions"])
    return {field: block[field] for field in fields}


def played(peer: HttpRpcClient, code: CheatCode) -> tuple[Any, list[Any], dict[str, Any]]:
    """Return the result of the request, the results of the calls after it, and what the last block has."""
    start = int(peer("eth_blockNumber"), 16)
    for method, params in code.before:
        peer(method, *params)
    result = outcome(peer, code.method, code.params)
    after = []
    for method, params in code.after:
        found = outcome(peer, method, params)
        if method == "eth_blockNumber":
            found = int(found, 16) - start
        if method == "eth_accounts":
            found = found[-1]
        # Hashes of transactions differ with the chain id and the fees.
        after.append(None if method == "eth_sendTransaction" else found)
    return result, after, seen(peer, code.block)


@pytest.mark.parametrize("layer", ["l1", "l2"])
@pytest.mark.parametrize("code", CHEAT_CODES, ids=lambda code: code.id)
def test_a_cheat_code_is_the_same(peers: Peers, layer: str, code: CheatCode) -> None:
    ours, theirs = played(getattr(peers, layer), code), played(peers.anvil, code)
    if code.difference is None:
        are_seconds = type(ours[0]) is type(theirs[0]) is int
        assert ours[0] == theirs[0] or (are_seconds and abs(ours[0] - theirs[0]) <= SLACK["result"])
    assert ours[1] == theirs[1]
    for field, value in ours[2].items():
        expected = theirs[2][field]
        assert value == expected or abs(value - expected) <= SLACK[field], field


@pytest.mark.parametrize("layer", ["l1", "l2"])
@pytest.mark.parametrize("known", DIFFERENCES, ids=lambda it: it.method)
def test_a_difference_is_known(peers: Peers, layer: str, known: KnownDifference) -> None:
    assert outcome(getattr(peers, layer), known.method, known.params) == known.ours, known.reason
    theirs = outcome(peers.anvil, known.method, known.params)
    assert known.theirs in (..., theirs)
    assert theirs != known.ours


@pytest.mark.parametrize("layer", ["l1", "l2"])
def test_pending_transactions_are_sealed_when_automine_is_on_again(
    peers: Peers, layer: str
) -> None:
    for peer in (getattr(peers, layer), peers.anvil):
        peer("evm_setAutomine", False)
        sent = [peer("eth_sendTransaction", {"from": ALICE, "to": STRANGER}) for _ in range(2)]
        assert peer("evm_setAutomine", True) is None
        assert len({peer.receipt(transaction)["blockNumber"] for transaction in sent}) == 1


@pytest.mark.parametrize("layer", ["l1", "l2"])
def test_time_moves_as_far_after_quick_transactions(peers: Peers, layer: str) -> None:
    def moved(peer: HttpRpcClient) -> int:
        for _ in range(20):
            sent = peer("eth_sendTransaction", {"from": ALICE, "to": STRANGER, "value": "0x1"})
            peer.receipt(sent)
        peer("evm_increaseTime", 60)
        peer("evm_mine")
        return int(seen(peer, ("gap",))["gap"])

    assert moved(getattr(peers, layer)) in {60, 61}
    assert moved(peers.anvil) in {60, 61}


@pytest.mark.parametrize("layer", ["l1", "l2"])
def test_a_failing_transaction_without_gas_is_in_a_block(peers: Peers, layer: str) -> None:
    def receipt(peer: HttpRpcClient) -> tuple[str, str]:
        peer("anvil_setCode", STRANGER, REVERTS)
        sent = peer("eth_sendTransaction", {"from": ALICE, "to": STRANGER})
        return peer.receipt(sent)["status"], peer.receipt(sent)["gasUsed"]

    assert receipt(getattr(peers, layer)) == receipt(peers.anvil)


@pytest.mark.parametrize("more", [{"value": "0x5"}, {"gasPrice": "0x77359400"}])
def test_a_transfer_has_an_estimate_without_funds_on_l1_alone(
    peers: Peers, more: dict[str, str]
) -> None:
    """An L2 rejects it as zksync-era does, so that clients know that funds are missing."""
    call = {"from": STRANGER, "to": ALICE, **more}
    assert peers.l1("eth_estimateGas", call) == peers.anvil("eth_estimateGas", call) == "0x5208"
    assert outcome(peers.l2, "eth_estimateGas", [call]) == "error -32000"


@pytest.mark.parametrize("layer", ["l1", "l2"])
def test_mined_details_have_the_same_keys(peers: Peers, layer: str) -> None:
    def details(peer: HttpRpcClient) -> tuple[str, str]:
        peer("anvil_setCode", STRANGER, REVERTS)
        peer("evm_setAutomine", False)
        peer("eth_sendTransaction", {"from": ALICE, "to": STRANGER, "gas": "0x186a0"})
        ((transaction,),) = (block["transactions"] for block in peer("evm_mine_detailed"))
        return transaction["output"], transaction["revertReason"]

    assert details(getattr(peers, layer)) == details(peers.anvil)


@pytest.mark.parametrize("layer", ["l1", "l2"])
@pytest.mark.parametrize(
    "data", ["0x", "0xdeadbeef", "0xdeadbeef" + "ff" * 32, "0xdead", "0x08c379a0", "0x6e6f"]
)
def test_reverts_have_the_same_text_and_data(peers: Peers, layer: str, data: str) -> None:
    """Except for bytes below 0x80 that are not text: anvil prints them as they are."""

    def failure(peer: HttpRpcClient) -> tuple[int, str, object]:
        # It reverts with what it is called with.
        peer("anvil_setCode", STRANGER, "0x365f5f37365ffd")
        with pytest.raises(RpcError) as caught:
            peer("eth_call", {"to": STRANGER, "data": data}, "latest")
        return caught.value.code, caught.value.message, caught.value.data

    assert failure(getattr(peers, layer)) == failure(peers.anvil)


@pytest.mark.parametrize("method", ["anvil_nodeInfo", "anvil_metadata"])
def test_the_node_describes_itself_with_the_same_keys(peers: Peers, method: str) -> None:
    ours, theirs = peers.l1(method), peers.anvil(method)
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        assert isinstance(ours[key], type(value)) or key == "clientCommitSha", key
