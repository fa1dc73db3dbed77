"""What signed transactions would do together."""

from __future__ import annotations

from typing import Any

import pytest

from entresol._native import keccak256
from entresol.node.config.api_limits import LimitsConfig
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE, BOB, FEE, LOGGER, NOBODY, transaction
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError

PAID = "0x" + "cc" * 20
# Sends what it has to the coinbase; reverts with 0x2a; returns number, time, base fee and gas limit.
BRIBES = "0x5f5f5f5f47415af1"
REVERTS = "0x602a5f5260205ffd"
TELLS = "0x435f524260205248604052456060526080 5ff3".replace(" ", "")


def bundle(*sent: Any, **more: object) -> dict[str, object]:
    return {"txs": [hexed(it.raw) for it in sent], "blockNumber": "0x5", **more}


def code_of(client: ApiClient, *params: object) -> tuple[int, str]:
    with pytest.raises(RpcError) as rejection:
        client("eth_callBundle", *params)
    return rejection.value.code, rejection.value.message


def test_each_transaction_runs_on_the_state_of_those_before_it(client: ApiClient) -> None:
    sent = [transaction(nonce, wei=3, tip=5) for nonce in range(2)]
    ran = client("eth_callBundle", bundle(*sent, coinbase=PAID))
    assert [it["txHash"] for it in ran["results"]] == [str(it.hash) for it in sent]
    assert ran["results"][0] == {
        "txHash": str(sent[0].hash),
        "fromAddress": str(ALICE),
        "toAddress": str(NOBODY),
        "gasUsed": 21_000,
        "gasPrice": "5",
        "gasFees": "105000",
        "coinbaseDiff": "105000",
        "ethSentToCoinbase": "0",
        "value": "0x",
    }
    assert ran["totalGasUsed"] == 42_000
    assert (ran["gasFees"], ran["coinbaseDiff"], ran["bundleGasPrice"]) == ("210000", "210000", "5")
    assert ran["bundleHash"] == hexed(keccak256(b"".join(it.hash for it in sent)))
    assert ran["stateBlockNumber"] == 0


def test_nothing_is_kept(client: ApiClient) -> None:
    client("eth_callBundle", bundle(transaction(0, wei=3)))
    assert client("eth_blockNumber") == "0x0"
    assert client("txpool_status") == {"pending": "0x0", "queued": "0x0"}
    assert client("eth_getBalance", str(NOBODY)) == "0x0"


def test_what_is_sent_to_the_coinbase_counts_beside_the_gas(client: ApiClient) -> None:
    client("anvil_setCode", str(BOB), BRIBES)
    client("anvil_setBalance", str(BOB), "0x9")
    (ran,) = client("eth_callBundle", bundle(transaction(0, to=BOB, wei=0), coinbase=PAID))[
        "results"
    ]
    assert (ran["coinbaseDiff"], ran["ethSentToCoinbase"], ran["gasFees"]) == ("9", "9", "0")


def test_a_failure_is_among_the_results(client: ApiClient) -> None:
    client("anvil_setCode", str(BOB), REVERTS)
    sent = transaction(0, to=BOB, wei=0), transaction(1)
    failed, done = client("eth_callBundle", bundle(*sent))["results"]
    assert failed["revert"] == "0x" + "00" * 31 + "2a"
    assert failed["error"].startswith("execution reverted")
    assert "value" not in failed
    assert done["value"] == "0x"


def test_the_block_is_as_the_request_says(client: ApiClient) -> None:
    client("anvil_setCode", str(BOB), TELLS)
    sent = transaction(0, to=BOB, wei=0)
    block = {"timestamp": 9_000, "baseFee": FEE - 1, "gasLimit": "0x30d40"}
    told = client("eth_callBundle", bundle(sent, **block))["results"][0]["value"]
    words = [int(told[start : start + 64], 16) for start in range(2, len(told), 64)]
    assert words == [5, 9_000, FEE - 1, 200_000]
    head = int(client("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
    told = client("eth_callBundle", bundle(sent))["results"][0]["value"]
    assert int(told[66:130], 16) == head + 12


def test_the_state_is_that_after_a_block(client: ApiClient) -> None:
    send(client)
    sent = transaction(0, wei=7)
    assert (
        client("eth_callBundle", bundle(sent, stateBlockNumber="0x0", baseFee=1))[
            "stateBlockNumber"
        ]
        == 0
    )
    assert code_of(client, bundle(sent)) == (-32000, "nonce too low: next nonce 1, tx nonce 0")
    client("evm_setAutomine", False)
    send(client, 1)
    pending = client("eth_callBundle", bundle(transaction(2), stateBlockNumber="pending"))
    assert pending["stateBlockNumber"] == 2


def test_what_is_not_valid_is_an_error(client: ApiClient) -> None:
    sent = transaction(1)
    assert code_of(client, bundle()) == (-32602, "bundle missing txs")
    assert code_of(client, {**bundle(sent), "blockNumber": 0}) == (
        -32602,
        "bundle missing blockNumber",
    )
    assert code_of(client, bundle(sent)) == (-32000, "nonce too high: next nonce 0, tx nonce 1")
    assert code_of(client, bundle(sent, stateBlockNumber="0x9"))[0] == -32602
    assert code_of(client, {"txs": ["0x02"], "blockNumber": 1})[0] == -32000
    assert code_of(client, {"txs": ["0x02"]}) == (-32602, "params[0].blockNumber: is missing")


def test_a_bundle_fits_the_gas_limit_of_its_block(client: ApiClient) -> None:
    sent = transaction(0, to=LOGGER, wei=0), transaction(1)
    code, text = code_of(client, bundle(*sent, gasLimit=100_000))
    assert code == -32000
    assert text.endswith("the transaction needs 100000")


def test_a_bundle_has_a_limit_of_transactions(client: ApiClient) -> None:
    limited = ApiClient(client.chain, limits=LimitsConfig(call_limit=1))
    try:
        assert code_of(limited, bundle(transaction(0), transaction(1)))[1].startswith(
            "too many calls"
        )
    finally:
        limited.api.close()
