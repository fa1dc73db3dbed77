"""Raw objects lead back to the hashes that clients know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol._native import keccak256, ordered_root, rlp_decode, rlp_encode
from entresol.primitives.headers import Header
from entresol.primitives.receipts import Receipt
from entresol.primitives.transactions import PriorityTransaction, decode
from entresol.primitives.transactions.zk import ZK_TYPE
from tests.support.chain.api_client import ApiClient
from tests.support.chain.sample_chain import SampleChain

NAMES = [
    "deposit", "legacy", "unprotected", "access_list", "fee_market", "set_code", "creation",
    "failure", "deployment",
]  # fmt: skip


@pytest.fixture(scope="module")
def api(sample: SampleChain) -> Iterator[ApiClient]:
    client = ApiClient(sample.chain)
    yield client
    client.api.close()


def items(encoded: bytes) -> Any:
    """Decode RLP into lists whose shape the test knows."""
    return rlp_decode(encoded)


def unhexed(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


@pytest.mark.parametrize("number", ["0x0", "0x1", "0x2", "latest"])
def test_the_hash_of_a_raw_header_is_that_of_the_block(api: ApiClient, number: str) -> None:
    shown = api("eth_getBlockByNumber", number, False)
    raw = unhexed(api("debug_getRawHeader", number))
    assert "0x" + keccak256(raw).hex() == shown["hash"]
    assert unhexed(api("debug_getRawHeader", shown["hash"])) == raw
    assert unhexed(api("debug_getRawHeader", {"blockHash": shown["hash"]})) == raw


def test_a_raw_block_has_header_and_transactions(api: ApiClient, sample: SampleChain) -> None:
    header, transactions, uncles = items(unhexed(api("debug_getRawBlock", "0x2")))
    assert (
        "0x" + keccak256(rlp_encode(header)).hex()
        == api("eth_getBlockByNumber", "0x2", False)["hash"]
    )
    assert uncles == []
    encoded = [
        transaction if isinstance(transaction, bytes) else rlp_encode(transaction)
        for transaction in transactions
    ]
    assert encoded == [raw for raw, _ in sample.record.transactions]
    assert ordered_root(encoded) == Header.from_rlp(header).transactions_root


@pytest.mark.parametrize("name", NAMES)
def test_a_raw_transaction_has_its_hash(api: ApiClient, sample: SampleChain, name: str) -> None:
    known = sample.hashes[name]
    raw = unhexed(api("debug_getRawTransaction", str(known)))
    assert api("eth_getTransactionByHash", str(known))["hash"] == str(known)
    if raw[0] == 0xFF:
        (request, _) = items(raw[1:])
        assert keccak256(request) == known
        assert PriorityTransaction.decode(raw).hash() == known
    elif raw[0] == ZK_TYPE:
        assert decode(raw).hash == known
    else:
        assert keccak256(raw) == known


def test_raw_receipts_lead_to_the_receipts_root(api: ApiClient, sample: SampleChain) -> None:
    raw = list(map(unhexed, api("debug_getRawReceipts", "0x2")))
    assert ordered_root(raw) == sample.record.header().receipts_root
    shown = api("eth_getBlockReceipts", "0x2")
    for encoded, receipt in zip(raw, shown, strict=True):
        decoded = Receipt.decode(encoded)
        assert hex(decoded.type) == receipt["type"]
        assert hex(decoded.cumulative_gas_used) == receipt["cumulativeGasUsed"]
        assert decoded.succeeded == (receipt["status"] == "0x1")
    assert api("debug_getRawReceipts", "0x1") == []


def test_raw_transactions_are_those_of_the_block(api: ApiClient, sample: SampleChain) -> None:
    raw = api("debug_getRawTransactions", "0x2")
    assert list(map(unhexed, raw)) == [raw for raw, _ in sample.record.transactions]
    hashes = api("eth_getBlockByNumber", "0x2", False)["transactions"]
    assert raw == [api("debug_getRawTransaction", transaction_hash) for transaction_hash in hashes]
    assert api("debug_getRawTransactions", {"blockNumber": "0x2"}) == raw
    assert api("debug_getRawTransactions", "0x0") == []


def test_a_transaction_that_nobody_sent_has_no_bytes(api: ApiClient) -> None:
    assert api("debug_getRawTransaction", "0x" + "ab" * 32) is None


@pytest.mark.parametrize("method", ["getRawHeader", "getRawBlock", "getRawReceipts"])
@pytest.mark.parametrize(
    ("block", "text"),
    [("0x99", "block #153 not found"), ("0x" + "ab" * 32, f"block 0x{'ab' * 32} not found")],
)
def test_an_unknown_block_is_rejected_in_the_words_of_geth(
    api: ApiClient, method: str, block: str, text: str
) -> None:
    rejection = api.error(f"debug_{method}", block)
    assert (rejection.code, rejection.message) == (-32000, text)
