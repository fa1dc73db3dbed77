"""Rendered objects through the formatters of web3.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hexbytes import HexBytes
from web3 import Web3
from web3.providers.base import BaseProvider

from entresol.rpc.render.hex import raw_array
from tests.support.chain.dev_chain import LOGGER
from tests.support.chain.sample_chain import SENDERS, SampleChain, parsed, payloads, sample_chain

NAMES = ["deposit", *payloads()]


class ViewsProvider(BaseProvider):
    """Responds to web3.py with rendered objects, without a server."""

    def __init__(self, sample: SampleChain) -> None:
        super().__init__()
        self._sample = sample

    def make_request(self, method: Any, params: Any) -> Any:
        response = getattr(self, method)(*params)
        return {"jsonrpc": "2.0", "id": 1, "result": None if response is None else parsed(response)}

    def eth_getBlockByNumber(self, block: str, full: bool) -> Any:  # noqa: N802
        if block == "pending":
            return self._sample.rendered.pending.block(full=full)
        return self._sample.rendered.block(int(block, 16), full=full)

    def eth_getTransactionByHash(self, transaction_hash: str) -> Any:  # noqa: N802
        return self._sample.rendered.transaction(bytes.fromhex(transaction_hash[2:]))

    def eth_getTransactionReceipt(self, transaction_hash: str) -> Any:  # noqa: N802
        return self._sample.rendered.receipt(bytes.fromhex(transaction_hash[2:]))

    def eth_getBlockReceipts(self, block: str) -> Any:  # noqa: N802
        return self._sample.rendered.block_receipts(int(block, 16))

    def eth_getRawTransactionByHash(self, transaction_hash: str) -> Any:  # noqa: N802
        return self._sample.rendered.raw_transaction(bytes.fromhex(transaction_hash[2:]))

    def eth_getLogs(self, _query: object) -> Any:  # noqa: N802
        return raw_array(self._sample.logs())


@pytest.fixture(scope="module")
def sample() -> Iterator[SampleChain]:
    with sample_chain() as sample:
        yield sample


@pytest.fixture
def web3(sample: SampleChain) -> Web3:
    return Web3(ViewsProvider(sample))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_web3_reads_blocks(web3: Web3, sample: SampleChain, number: int) -> None:
    block, header = web3.eth.get_block(number), sample.chain.blocks.header(number)
    assert block["number"] == number
    assert bytes(block["hash"]) == header.hash()
    assert bytes(block["parentHash"]) == header.parent_hash
    assert bytes(block["stateRoot"]) == header.state_root
    assert bytes(block["logsBloom"]) == header.logs_bloom
    assert bytes(block["nonce"]) == bytes(8)
    assert block["baseFeePerGas"] == header.base_fee_per_gas
    assert (block["gasUsed"], block["gasLimit"]) == (header.gas_used, header.gas_limit)
    assert block["timestamp"] == header.timestamp
    assert block["size"] > 500
    assert len(block["transactions"]) == (9 if number == 2 else 0)


def test_web3_reads_the_pending_block(web3: Web3) -> None:
    block = web3.eth.get_block("pending", full_transactions=True)
    assert block["number"] == 3
    assert block.get("hash") is None


@pytest.mark.parametrize("name", NAMES)
def test_web3_reads_transactions(web3: Web3, sample: SampleChain, name: str) -> None:
    shown = web3.eth.get_transaction(HexBytes(sample.hashes[name]))
    assert bytes(shown["hash"]) == sample.hashes[name]
    assert shown["transactionIndex"] == sample.index(name)
    assert shown["blockNumber"] == 2
    in_block = web3.eth.get_block(2, full_transactions=True)["transactions"]
    assert in_block[sample.index(name)] == shown
    raw, _ = sample.record.transactions[sample.index(name)]
    assert bytes(web3.eth.get_raw_transaction(HexBytes(sample.hashes[name]))) == raw


@pytest.mark.parametrize("name", NAMES)
def test_web3_reads_receipts(web3: Web3, sample: SampleChain, name: str) -> None:
    receipt = web3.eth.get_transaction_receipt(HexBytes(sample.hashes[name]))
    assert receipt == web3.eth.get_block_receipts(2)[sample.index(name)]
    assert receipt["status"] == (name != "failure")
    assert receipt["gasUsed"] == sample.record.results[sample.index(name)].gas_used
    assert len(receipt["logs"]) == len(sample.record.results[sample.index(name)].logs)


def test_web3_reads_logs(web3: Web3) -> None:
    logs = web3.eth.get_logs({})
    assert [log["logIndex"] for log in logs] == list(range(len(logs)))
    sender = SENDERS[list(payloads()).index("access_list")]
    (log,) = [log for log in logs if bytes(log["data"]) == b"\x12\x34"]
    assert log["address"].lower() == str(LOGGER)
    assert bytes(log["topics"][0])[12:] == sender
    assert log["removed"] is False
