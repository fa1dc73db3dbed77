"""Frames of sealed transactions in the format of Parity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chain.dev_chain import ALICE, BOB
from tests.support.chain.traced_chain import INNER, OUTER, TracedChain, traced_chain
from tests.support.rpc_client import RpcError


@pytest.fixture(scope="module")
def chain() -> Iterator[TracedChain]:
    with traced_chain() as chain:
        yield chain


def addresses(frames: list[dict[str, Any]]) -> list[list[int]]:
    return [frame["traceAddress"] for frame in frames]


def test_a_transaction_has_a_frame_for_each_call(chain: TracedChain) -> None:
    frames = chain.client("trace_transaction", chain.nested)
    assert addresses(frames) == [[], [0], [1]]
    top, counted, paid = frames
    assert (top["action"]["to"], top["subtraces"]) == (str(OUTER), 2)
    assert int(counted["result"]["output"], 16) == 1
    assert paid["action"]["value"] == "0x1"
    receipt = chain.client("eth_getTransactionReceipt", chain.nested)
    for frame in frames:
        assert frame["transactionHash"] == chain.nested
        assert frame["blockHash"] == receipt["blockHash"]
        assert frame["blockNumber"] == int(receipt["blockNumber"], 16)
        assert frame["transactionPosition"] == 0


def test_an_unknown_transaction_has_no_frames(chain: TracedChain) -> None:
    assert chain.client("trace_transaction", "0x" + "ab" * 32) == []


def test_a_failed_frame_has_an_error(chain: TracedChain) -> None:
    (frame,) = chain.client("trace_transaction", chain.failed)
    assert frame["error"] == "Reverted"


def test_a_creation_has_the_address_of_the_contract(chain: TracedChain) -> None:
    _, created = chain.client("trace_transaction", chain.creating)
    assert created["type"] == "create"
    assert created["result"]["code"] == "0x00"


def test_a_block_has_the_frames_of_its_transactions(chain: TracedChain) -> None:
    receipt = chain.client("eth_getTransactionReceipt", chain.nested)
    number = int(receipt["blockNumber"], 16)
    for block in (number, hex(number), receipt["blockHash"]):
        frames = chain.client("trace_block", block)
        assert frames == chain.client("trace_transaction", chain.nested)
    assert chain.client("trace_block", "0x0") == []
    with pytest.raises(RpcError, match="block #99 not found"):
        chain.client("trace_block", 99)


def test_one_frame_is_found_by_its_address(chain: TracedChain) -> None:
    frames = chain.client("trace_transaction", chain.nested)
    assert chain.client("trace_get", chain.nested, ["0x1"]) == frames[2]
    assert chain.client("trace_get", chain.nested, []) == frames[0]
    assert chain.client("trace_get", chain.nested, ["0x7"]) is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [[], [0], [1], [], [], [0], []]),
        ({"fromAddress": [str(OUTER)]}, [[0], [1]]),
        ({"toAddress": [str(INNER)]}, [[0]]),
        ({"fromAddress": [str(ALICE)], "toAddress": [str(BOB)]}, [[], [1], [], [], []]),
        (
            {"fromAddress": [str(OUTER)], "toAddress": [str(BOB)], "mode": "intersection"},
            [[1]],
        ),
        ({"after": 2, "count": 2}, [[1], []]),
        ({"count": 0}, []),
        ({"after": 100}, []),
        ({"fromBlock": "0x2", "toBlock": 3}, [[], [], [0]]),
    ],
)
def test_frames_are_filtered(
    chain: TracedChain, wanted: dict[str, Any], found: list[list[int]]
) -> None:
    assert addresses(chain.client("trace_filter", wanted)) == found


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        ("0x3", "0x2", "invalid block range, ensure that to block is greater than from block"),
        ("0x0", "latest", "block range too large, currently limited to 300"),
    ],
)
def test_a_range_is_bounded(first: str, last: str, text: str) -> None:
    with traced_chain() as own:
        own.client("anvil_mine", 300)
        with pytest.raises(RpcError, match=text) as rejection:
            own.client("trace_filter", {"fromBlock": first, "toBlock": last})
        assert rejection.value.code == -32602
        assert own.client("trace_filter", {"fromBlock": hex(10), "toBlock": "latest"}) == []
