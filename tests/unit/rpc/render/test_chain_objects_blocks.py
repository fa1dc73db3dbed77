"""Block and header objects: every field, and that the hash and the size are those of the RLP."""

from __future__ import annotations

from typing import Any

import pytest
import rlp
from eth_hash.auto import keccak

from entresol.primitives.values import Hash32
from entresol.rpc.render.chain_objects import BatchInfo
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import transaction
from tests.support.chain.sample_chain import SampleChain, parsed

HEADER_ORDER = [
    "parentHash",
    "sha3Uncles",
    "miner",
    "stateRoot",
    "transactionsRoot",
    "receiptsRoot",
    "logsBloom",
    "difficulty",
    "number",
    "gasLimit",
    "gasUsed",
    "timestamp",
    "extraData",
    "mixHash",
    "nonce",
    "baseFeePerGas",
]
QUANTITIES = {"difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas"}
HEADER_KEYS = {*HEADER_ORDER, "hash"}
BLOCK_KEYS = {
    *HEADER_KEYS,
    *("totalDifficulty", "size", "transactions", "uncles", "sealFields"),
    *("l1BatchNumber", "l1BatchTimestamp"),
}
SIZES = {"hash": 32, "parentHash": 32, "nonce": 8, "miner": 20, "logsBloom": 256, "mixHash": 32}
EMPTY_OMMERS = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"


def fields(header: dict[str, Any]) -> list[Any]:
    """Return the items of a header, read from its object alone."""
    return [
        rlp.sedes.big_endian_int.serialize(int(header[key], 16))
        if key in QUANTITIES
        else bytes.fromhex(header[key][2:])
        for key in HEADER_ORDER
    ]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_header_hashes_to_its_hash(sample: SampleChain, number: int) -> None:
    block = sample.block(number)
    assert "0x" + keccak(rlp.encode(fields(block))).hex() == block["hash"]
    assert block["hash"] == str(sample.chain.blocks.block_hash(number))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_size_is_that_of_the_rlp(sample: SampleChain, number: int) -> None:
    block = sample.block(number)
    raws = [raw for raw, _ in sample.chain.blocks.record(number).transactions]
    items = [rlp.decode(raw) if 0xC0 <= raw[0] < 0xFE else raw for raw in raws]
    assert int(block["size"], 16) == len(rlp.encode([fields(block), items, []]))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_field_is_there(sample: SampleChain, number: int, full: bool) -> None:
    block = sample.block(number, full=full)
    assert set(block) == BLOCK_KEYS
    for key, size in SIZES.items():
        assert len(block[key]) == 2 + 2 * size, key
    assert block["number"] == hex(number)
    assert (block["uncles"], block["sealFields"]) == ([], [])
    assert (block["l1BatchNumber"], block["l1BatchTimestamp"]) == (None, None)
    assert (block["difficulty"], block["totalDifficulty"]) == ("0x0", "0x0")
    assert block["sha3Uncles"] == EMPTY_OMMERS


def test_values_are_those_of_the_header(sample: SampleChain) -> None:
    block, header = sample.block(), sample.record.header()
    assert block["parentHash"] == sample.block(1)["hash"]
    assert block["stateRoot"] == str(header.state_root)
    assert block["transactionsRoot"] == str(header.transactions_root)
    assert block["receiptsRoot"] == str(header.receipts_root)
    assert block["miner"] == str(header.beneficiary)
    assert block["gasUsed"] == hex(header.gas_used)
    assert block["baseFeePerGas"] == hex(header.base_fee_per_gas)
    assert block["timestamp"] == hex(header.timestamp)


def test_transactions_are_hashes_or_objects_in_order(sample: SampleChain) -> None:
    hashes, objects = sample.block()["transactions"], sample.block(full=True)["transactions"]
    assert [it["hash"] for it in objects] == hashes
    assert sorted(hashes) == sorted(str(it) for it in sample.hashes.values())
    assert objects == [
        parsed(sample.rendered.transaction(bytes.fromhex(it[2:])))
        for it in hashes  # each by itself
    ]


def test_a_header_is_a_block_without_what_it_contains(sample: SampleChain) -> None:
    header = parsed(sample.rendered.header(2))
    assert set(header) == HEADER_KEYS
    assert header.items() <= sample.block().items()


def test_the_header_of_an_event_equals_the_requested_one(sample: SampleChain) -> None:
    header = sample.record.header()
    rendered = parsed(sample.rendered.head(header, header.hash()))
    assert rendered == parsed(sample.rendered.header(2))


@pytest.mark.parametrize("number", [-1, 3, 2**64, 2**256 - 1])
def test_a_missing_block_is_none(sample: SampleChain, number: int) -> None:
    assert sample.rendered.block(number, full=False) is None
    assert sample.rendered.block(number, full=True) is None
    assert sample.rendered.header(number) is None
    assert sample.rendered.block_receipts(number) is None
    assert sample.rendered.transaction_count(number) is None
    assert sample.rendered.transaction_at(number, 0) is None
    assert sample.rendered.raw_transaction_at(number, 0) is None


def test_transactions_are_counted(sample: SampleChain) -> None:
    assert [sample.rendered.transaction_count(number) for number in (0, 1, 2)] == [0, 0, 9]


def test_the_pending_block_is_the_one_that_would_be_sealed(own_sample: SampleChain) -> None:
    sample = own_sample
    sent = InlineSequencer(sample.chain).submit(transaction(1).raw)
    pending = parsed(sample.rendered.pending.block(full=False))
    assert set(pending) == BLOCK_KEYS
    assert pending["hash"] is None
    assert parsed(sample.rendered.pending.header())["hash"] is None
    assert pending["transactions"] == [str(sent)]
    sample.chain.builder.seal()
    assert sample.block(3) | {"hash": None} == pending


def test_transactions_of_the_pending_block_have_no_location(own_sample: SampleChain) -> None:
    sample = own_sample
    sent = InlineSequencer(sample.chain).submit(transaction(1).raw)
    (inside,) = parsed(sample.rendered.pending.block(full=True))["transactions"]
    assert inside == parsed(sample.rendered.transaction(sent))
    assert inside["blockHash"] is inside["blockNumber"] is inside["transactionIndex"] is None


def test_a_block_names_its_batch() -> None:
    class Batches:
        def batch_of(self, block: int) -> BatchInfo | None:
            return BatchInfo(number=5, timestamp=900, first_tx_number=3) if block == 2 else None

        def last_block(self) -> int | None:
            return 2

    sample = SampleChain(batches=Batches())
    try:
        assert sample.block(1)["l1BatchNumber"] is None
        block = sample.block(full=True)
        assert (block["l1BatchNumber"], block["l1BatchTimestamp"]) == ("0x5", "0x384")
        for index, inside in enumerate(block["transactions"]):
            assert (inside["l1BatchNumber"], inside["l1BatchTxIndex"]) == ("0x5", hex(3 + index))
        for index, receipt in enumerate(parsed(sample.rendered.block_receipts(2))):
            assert (receipt["l1BatchNumber"], receipt["l1BatchTxIndex"]) == ("0x5", hex(3 + index))
            assert all(log["l1BatchNumber"] == "0x5" for log in receipt["logs"])
            for message in receipt["l2ToL1Logs"]:
                assert message["l1BatchNumber"] == "0x5"
                assert message["txIndexInL1Batch"] == hex(3 + index)
    finally:
        sample.chain.close()


def test_the_world_has_every_type(sample: SampleChain) -> None:
    types = [it["type"] for it in sample.block(full=True)["transactions"]]
    assert sorted(types) == sorted(
        ["0xff", "0x0", "0x0", "0x1", "0x2", "0x4", "0x2", "0x2", "0x71"]
    )
    assert all(isinstance(it, Hash32) for it in sample.hashes.values())
