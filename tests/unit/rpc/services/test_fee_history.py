"""The fees of blocks in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from entresol.chain.chain import Chain
from entresol.rpc.services.fee_history import new_fee_history
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import FEE, transaction


def history(client: ApiClient, first: int, last: int, *percentiles: float) -> Any:
    return json.loads(new_fee_history(client.chain).render(first, last, percentiles))


def seal_tips(chain: Chain, *tips: int) -> None:
    """Seal a block with a transaction of each tip, by different senders."""
    chain.schedule.seal_on_request()
    nonce = sum(len(chain.blocks.record(n).transactions) > 0 for n in range(chain.number + 1))
    for sender, tip in enumerate(tips):
        chain.submit(transaction(nonce, by=sender, tip=tip).raw)
    chain.seal()


def test_the_base_fees_go_one_block_further(client: ApiClient) -> None:
    send(client)
    send(client, 1)
    assert history(client, 1, 2) == {
        "oldestBlock": "0x1",
        "baseFeePerGas": [hex(FEE)] * 3,
        "gasUsedRatio": [21_000 / client.chain.head.gas_limit] * 2,
        "reward": [[], []],
        "baseFeePerBlobGas": ["0x1"] * 3,
        "blobGasUsedRatio": [0.0, 0.0],
    }
    client("anvil_setNextBlockBaseFeePerGas", hex(FEE + 7))
    assert history(client, 1, 2)["baseFeePerGas"][-1] == hex(FEE + 7)
    assert history(client, 1, 1)["baseFeePerGas"][-1] == hex(FEE)


def test_tips_are_weighted_by_gas(client: ApiClient) -> None:
    seal_tips(client.chain, 30, 10, 20)
    (rewards,) = history(client, 1, 1, 0, 33, 34, 67, 100)["reward"]
    assert [int(it, 16) for it in rewards] == [10, 10, 20, 30, 30]


def test_a_block_without_transactions_has_no_tips(client: ApiClient) -> None:
    client("evm_mine")
    assert history(client, 1, 1, 10, 90)["reward"] == [["0x0", "0x0"]]


def test_the_fees_of_a_reverted_block_are_read_again(client: ApiClient) -> None:
    seal_tips(client.chain, 1)
    snapshot = client("evm_snapshot")
    seal_tips(client.chain, 2)
    assert client("eth_feeHistory", "0x2", "latest", [50])["reward"] == [["0x1"], ["0x2"]]
    assert client("evm_revert", snapshot)
    assert client("eth_feeHistory", "0x2", "latest", [50])["reward"] == [["0x0"], ["0x1"]]
    seal_tips(client.chain, 3)
    assert client("eth_feeHistory", "0x2", "latest", [50])["reward"] == [["0x1"], ["0x3"]]


@pytest.mark.parametrize("newest", ["latest", "0x2"])
def test_blocks_are_loaded_once(client: ApiClient, newest: str) -> None:
    seal_tips(client.chain, 1)
    seal_tips(client.chain, 2)
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "eth_feeHistory", "params": ["0x2", newest, [5]]}
    ).encode()
    dispatcher = client.api.dispatcher
    assert dispatcher.respond_natively(body) is None
    expected = client("eth_feeHistory", "0x2", newest, [5])
    assert json.loads(dispatcher.respond_natively(body) or b"")["result"] == expected
