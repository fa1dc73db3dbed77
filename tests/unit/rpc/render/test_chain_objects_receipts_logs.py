"""Log objects, in receipts and on their own."""

from __future__ import annotations

from typing import Any

from entresol.chain.logs import find_logs
from entresol.rpc.cache import BlockLogs
from entresol.rpc.render.chain_objects import BatchInfo
from entresol.storage.log_index import LogQuery
from tests.support.chain.dev_chain import LOGGER
from tests.support.chain.log_emitter import read
from tests.support.chain.sample_chain import SENDERS, SampleChain, parsed, payloads

KEYS = {
    "address",
    "topics",
    "data",
    "blockHash",
    "blockNumber",
    "l1BatchNumber",
    "transactionHash",
    "transactionIndex",
    "logIndex",
    "transactionLogIndex",
    "logType",
    "removed",
    "blockTimestamp",
}


def in_receipts(sample: SampleChain) -> list[dict[str, Any]]:
    receipts = parsed(sample.rendered.block_receipts(2))
    return [log for receipt in receipts for log in receipt["logs"]]


def test_every_field_is_there(sample: SampleChain) -> None:
    block, name = sample.block(), "access_list"
    (log,) = sample.receipt(name)["logs"]
    assert set(log) == KEYS
    assert log["address"] == str(LOGGER)
    sender = SENDERS[list(payloads()).index(name)]
    assert log["topics"] == ["0x" + sender.rjust(32, b"\0").hex()]
    assert log["data"] == "0x1234"
    assert (log["blockHash"], log["blockNumber"]) == (block["hash"], "0x2")
    assert log["blockTimestamp"] == block["timestamp"]
    assert log["transactionHash"] == str(sample.hashes[name])
    assert log["transactionIndex"] == hex(sample.index(name))
    assert log["transactionLogIndex"] == "0x0"
    assert log["l1BatchNumber"] is log["logType"] is None
    assert log["removed"] is False


def test_indexes_run_through_the_block(sample: SampleChain) -> None:
    logs = in_receipts(sample)
    assert [log["logIndex"] for log in logs] == [hex(n) for n in range(len(logs))]
    within = [it["transactionLogIndex"] for it in sample.receipt("deployment")["logs"]]
    assert within == ["0x0", "0x1"]


def test_logs_that_are_found_are_those_of_the_receipts(sample: SampleChain) -> None:
    assert read(sample.logs()) == in_receipts(sample)


def test_a_log_without_data_has_empty_data(sample: SampleChain) -> None:
    assert sample.receipt("deployment")["logs"][0]["data"] == "0x"


def test_a_log_by_itself_is_the_one_of_the_receipt(sample: SampleChain) -> None:
    placed = find_logs(sample.chain.blocks, LogQuery(), 0, 2)
    assert [parsed(sample.rendered.log(it)) for it in placed] == in_receipts(sample)


def test_logs_name_their_batch_unless_they_are_removed() -> None:
    class Batches:
        def batch_of(self, block: int) -> BatchInfo | None:
            return BatchInfo(number=4, timestamp=1, first_tx_number=0) if block == 2 else None

        def last_block(self) -> int | None:
            return 2

    sample = SampleChain(batches=Batches())
    try:
        assert read(sample.logs()) == in_receipts(sample)
        assert {it["l1BatchNumber"] for it in read(sample.logs())} == {"0x4"}
        assert {it["l1BatchNumber"] for it in gone(sample)} == {None}
    finally:
        sample.chain.close()


def test_logs_of_reverted_blocks_are_marked_removed(sample: SampleChain) -> None:
    assert gone(sample) == [in_receipt | {"removed": True} for in_receipt in in_receipts(sample)]


def gone(sample: SampleChain) -> list[dict[str, Any]]:
    return read(BlockLogs(sample.record, None, removed=True).matching(LogQuery()))
