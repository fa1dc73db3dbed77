"""Blocks, transactions, receipts and logs: every field, real sums, and hashes and signatures that others verify."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
import rlp
from eth_account import Account
from eth_hash.auto import keccak
from eth_keys.datatypes import Signature

from entresol._native import keccak256
from entresol.chain.logs import find_logs
from entresol.primitives.l2_to_l1_logs import BOOTLOADER, L1_MESSENGER
from entresol.rpc.cache import BlockLogs
from entresol.rpc.render.chain_json import (
    CONTRACT_DEPLOYED,
    CONTRACT_DEPLOYER,
    DEPLOYMENTS,
    BatchInfo,
)
from entresol.sequencer.sequencer import InlineSequencer
from entresol.storage.log_index import LogQuery
from tests.support.chain.dev_chain import LOGGER, NOBODY, transaction
from tests.support.chain.log_emitter import read
from tests.support.chain.sample_chain import (
    CHAIN_ID,
    FEE,
    MADE,
    SENDERS,
    SLOT,
    TIP,
    SampleChain,
    authorization,
    deposit,
    parsed,
    payloads,
)

HEADER_ORDER = [
    "parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot",
    "logsBloom", "difficulty", "number", "gasLimit", "gasUsed", "timestamp", "extraData",
    "mixHash", "nonce", "baseFeePerGas",
]  # fmt: skip
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
def test_every_field_of_a_block_is_there(sample: SampleChain, number: int, full: bool) -> None:
    block = sample.block(number, full=full)
    assert set(block) == BLOCK_KEYS
    for key, size in SIZES.items():
        assert len(block[key]) == 2 + 2 * size, key
    assert block["number"] == hex(number)
    assert (block["uncles"], block["sealFields"]) == ([], [])
    assert (block["l1BatchNumber"], block["l1BatchTimestamp"]) == (None, None)
    assert (block["difficulty"], block["totalDifficulty"]) == ("0x0", "0x0")
    assert block["sha3Uncles"] == EMPTY_OMMERS


def test_a_header_is_a_block_without_what_it_contains(sample: SampleChain) -> None:
    header = parsed(sample.rendered.header(2))
    assert set(header) == HEADER_KEYS
    assert header.items() <= sample.block().items()


@pytest.mark.parametrize("number", [-1, 3, 2**64, 2**256 - 1])
def test_a_missing_block_is_none(sample: SampleChain, number: int) -> None:
    assert sample.rendered.block(number, full=False) is None
    assert sample.rendered.block(number, full=True) is None
    assert sample.rendered.header(number) is None
    assert sample.rendered.block_receipts(number) is None
    assert sample.rendered.transaction_count(number) is None
    assert sample.rendered.transaction_at(number, 0) is None
    assert sample.rendered.raw_transaction_at(number, 0) is None


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


def test_a_block_names_its_batch_and_its_removed_logs_do_not() -> None:
    class Batches:
        def batch_of(self, block: int) -> BatchInfo | None:
            return BatchInfo(number=5, timestamp=900) if block == 2 else None

        def last_block(self) -> int | None:
            return 2

    sample = SampleChain(batches=Batches())
    with closing(sample.chain):
        assert sample.block(1)["l1BatchNumber"] is None
        block = sample.block(full=True)
        assert (block["l1BatchNumber"], block["l1BatchTimestamp"]) == ("0x5", "0x384")
        for index, inside in enumerate(block["transactions"]):
            assert (inside["l1BatchNumber"], inside["l1BatchTxIndex"]) == ("0x5", hex(index))
        for index, receipt in enumerate(parsed(sample.rendered.block_receipts(2))):
            assert (receipt["l1BatchNumber"], receipt["l1BatchTxIndex"]) == ("0x5", hex(index))
            assert all(log["l1BatchNumber"] == "0x5" for log in receipt["logs"])
            for message in receipt["l2ToL1Logs"]:
                assert message["l1BatchNumber"] == "0x5"
                assert message["txIndexInL1Batch"] == hex(index)
        assert read(sample.logs()) == in_receipts(sample)
        assert {log["l1BatchNumber"] for log in gone(sample)} == {None}


RECEIPT_KEYS = {
    "transactionHash", "transactionIndex", "blockHash", "blockNumber", "l1BatchTxIndex",
    "l1BatchNumber", "from", "to", "cumulativeGasUsed", "gasUsed", "contractAddress", "logs",
    "l2ToL1Logs", "status", "logsBloom", "type", "effectiveGasPrice",
}  # fmt: skip
NAMES = ["deposit", *payloads()]


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_a_receipt_is_there(sample: SampleChain, name: str) -> None:
    receipt, transaction = sample.receipt(name), sample.transaction(name)
    assert set(receipt) == RECEIPT_KEYS
    shared = ("blockHash", "blockNumber", "transactionIndex", "from", "to", "type")
    assert [receipt[key] for key in shared] == [transaction[key] for key in shared]
    assert receipt["transactionHash"] == transaction["hash"]
    assert receipt["effectiveGasPrice"] == transaction["gasPrice"]
    assert receipt["status"] == ("0x0" if name == "failure" else "0x1")
    assert len(receipt["logsBloom"]) == 514


def test_the_receipt_reports_what_the_sender_paid(sample: SampleChain) -> None:
    receipt = sample.receipt("failure")
    sender = SENDERS[list(payloads()).index("failure")]
    paid = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    account = sample.chain.ledger.latest.account(sender)
    assert account is not None
    assert account.balance == 100 * 10**18 - paid
    assert receipt["effectiveGasPrice"] == hex(100_000_000 + TIP)
    assert sample.receipt("deposit")["effectiveGasPrice"] == hex(FEE)


def test_the_deployer_names_the_contract_it_made_for_the_sender(sample: SampleChain) -> None:
    assert sample.receipt("deployment")["contractAddress"] == str(MADE)


def test_selectors_and_topic_are_those_that_clients_use() -> None:
    selectors = {"9c4d535b", "3cda3351", "ecf95b8a", "5d382700"}
    assert {deployment.hex() for deployment in DEPLOYMENTS} == selectors
    assert CONTRACT_DEPLOYED.hex() == (
        "290afdae231a3fc0bbae8b1af63698b0a1d79b21ad17df0342dfb952fe74f8e5"
    )
    assert str(CONTRACT_DEPLOYER) == "0x0000000000000000000000000000000000008006"


def test_a_message_to_l1_is_listed(sample: SampleChain) -> None:
    receipt, sender = sample.receipt("fee_market"), SENDERS[list(payloads()).index("fee_market")]
    (message,) = receipt["l2ToL1Logs"]
    assert message == {
        "blockHash": receipt["blockHash"],
        "blockNumber": "0x2",
        "l1BatchNumber": None,
        "transactionHash": receipt["transactionHash"],
        "transactionIndex": receipt["transactionIndex"],
        "txIndexInL1Batch": None,
        "logIndex": "0x1",
        "transactionLogIndex": "0x0",
        "shardId": "0x0",
        "isService": True,
        "sender": str(L1_MESSENGER),
        "key": "0x" + sender.rjust(32, b"\0").hex(),
        "value": "0x" + keccak256(b"hello").hex(),
    }


def test_a_deposit_reports_how_it_ended(sample: SampleChain) -> None:
    (status,) = sample.receipt("deposit")["l2ToL1Logs"]
    assert status["sender"] == str(BOOTLOADER)
    assert status["key"] == str(sample.hashes["deposit"])
    assert int(status["value"], 16) == 1
    assert (status["logIndex"], status["isService"]) == ("0x0", True)


LOG_KEYS = {
    "address", "topics", "data", "blockHash", "blockNumber", "l1BatchNumber", "transactionHash",
    "transactionIndex", "logIndex", "transactionLogIndex", "logType", "removed", "blockTimestamp",
}  # fmt: skip


def in_receipts(sample: SampleChain) -> list[dict[str, Any]]:
    receipts = parsed(sample.rendered.block_receipts(2))
    return [log for receipt in receipts for log in receipt["logs"]]


def test_every_field_of_a_log_is_there(sample: SampleChain) -> None:
    block, name = sample.block(), "access_list"
    (log,) = sample.receipt(name)["logs"]
    assert set(log) == LOG_KEYS
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
    within = [log["transactionLogIndex"] for log in sample.receipt("deployment")["logs"]]
    assert within == ["0x0", "0x1"]


def test_logs_that_are_found_are_those_of_the_receipts(sample: SampleChain) -> None:
    assert read(sample.logs()) == in_receipts(sample)


def test_a_log_by_itself_is_the_one_of_the_receipt(sample: SampleChain) -> None:
    placed = find_logs(sample.chain.blocks, LogQuery(), 0, 2)
    assert [parsed(sample.rendered.log(log)) for log in placed] == in_receipts(sample)


def test_logs_of_reverted_blocks_are_marked_removed(sample: SampleChain) -> None:
    assert gone(sample) == [in_receipt | {"removed": True} for in_receipt in in_receipts(sample)]


def gone(sample: SampleChain) -> list[dict[str, Any]]:
    return read(BlockLogs(sample.record, None, removed=True).matching(LogQuery()))


COMMON = {
    "hash", "type", "nonce", "blockHash", "blockNumber", "transactionIndex", "blockTimestamp",
    "from", "to", "value", "gas", "gasPrice", "input", "chainId", "v", "r", "s", "l1BatchNumber",
    "l1BatchTxIndex",
}  # fmt: skip
CAPS = {"maxFeePerGas", "maxPriorityFeePerGas"}
TRANSACTION_KEYS = {
    "legacy": COMMON,
    "unprotected": COMMON,
    "access_list": COMMON | {"accessList", "yParity"},
    "fee_market": COMMON | CAPS | {"accessList", "yParity"},
    "set_code": COMMON | CAPS | {"accessList", "yParity", "authorizationList"},
    "deployment": COMMON | CAPS | {"yParity"},
    "deposit": COMMON | CAPS | {"yParity"},
}
SIGNED = list(payloads())


@pytest.mark.parametrize("name", TRANSACTION_KEYS)
def test_every_field_of_a_transaction_is_there(sample: SampleChain, name: str) -> None:
    assert set(sample.transaction(name)) == TRANSACTION_KEYS[name]


@pytest.mark.parametrize("name", SIGNED)
def test_what_was_sent_is_what_is_shown(sample: SampleChain, name: str) -> None:
    shown, payload = sample.transaction(name), payloads()[name]
    assert shown["hash"] == str(sample.hashes[name])
    assert shown["type"] == hex(payload.type)
    assert shown["from"] == str(SENDERS[SIGNED.index(name)])
    assert shown["to"] == (None if payload.to is None else str(payload.to))
    assert shown["nonce"] == hex(payload.nonce)
    assert shown["value"] == hex(payload.value)
    assert shown["gas"] == hex(payload.gas_limit)
    assert shown["input"] == "0x" + payload.data.hex()


@pytest.mark.parametrize("name", ["legacy", "unprotected", "access_list", "fee_market", "set_code"])
def test_another_library_recovers_the_sender_from_the_object(
    sample: SampleChain, name: str
) -> None:
    """The raw transaction is built anew out of nothing but the object, and read by eth_account."""
    shown = sample.transaction(name)
    raw = _raw_of(shown)
    assert raw == sample.sent[name].raw
    assert Account.recover_transaction(raw).lower() == shown["from"]


def test_a_zk_signature_is_the_senders(sample: SampleChain) -> None:
    shown, payload = sample.transaction("deployment"), payloads()["deployment"]
    assert shown["yParity"] == shown["v"]
    assert shown["v"] in ("0x0", "0x1")
    vrs = (int(shown["v"], 16), int(shown["r"], 16), int(shown["s"], 16))
    key = Signature(vrs=vrs).recover_public_key_from_msg_hash(payload.signing_hash())
    assert key.to_address() == shown["from"]


def test_legacy_signatures_have_the_chain_id_in_v_and_no_parity(sample: SampleChain) -> None:
    legacy, unprotected = sample.transaction("legacy"), sample.transaction("unprotected")
    assert int(legacy["v"], 16) in (35 + 2 * CHAIN_ID, 36 + 2 * CHAIN_ID)
    assert legacy["chainId"] == hex(CHAIN_ID)
    assert int(unprotected["v"], 16) in (27, 28)
    assert unprotected["chainId"] is None


def test_lists_are_shown(sample: SampleChain) -> None:
    expected = [
        {"address": str(LOGGER), "storageKeys": [str(SLOT)]},
        {"address": str(NOBODY), "storageKeys": []},
    ]
    assert sample.transaction("access_list")["accessList"] == expected
    assert sample.transaction("failure")["accessList"] == expected
    signed = authorization()
    assert sample.transaction("set_code")["authorizationList"] == [
        {
            "chainId": hex(CHAIN_ID),
            "address": str(LOGGER),
            "nonce": "0x0",
            "yParity": hex(signed.y_parity),
            "r": hex(signed.r),
            "s": hex(signed.s),
        }
    ]


def test_a_deposit_has_a_signature_of_zeros(sample: SampleChain) -> None:
    shown, payload = sample.transaction("deposit"), deposit()
    assert shown["type"] == "0xff"
    assert (shown["v"], shown["r"], shown["s"], shown["yParity"]) == ("0x0",) * 4
    assert (shown["nonce"], shown["chainId"]) == ("0x0", hex(CHAIN_ID))
    assert (shown["from"], shown["to"]) == (str(payload.sender), str(payload.to))
    assert shown["gasPrice"] == shown["maxFeePerGas"] == hex(FEE)
    assert (shown["maxPriorityFeePerGas"], shown["transactionIndex"]) == ("0x0", "0x0")
    assert shown["value"] == "0x9"


def test_a_pending_one_has_no_location_and_its_fee_cap_as_price(own_sample: SampleChain) -> None:
    sent = InlineSequencer(own_sample.chain).submit(transaction(1, tip=TIP).raw)
    shown = parsed(own_sample.rendered.transaction(sent))
    assert set(shown) == TRANSACTION_KEYS["fee_market"]
    for key in ("blockHash", "blockNumber", "transactionIndex", "blockTimestamp"):
        assert shown[key] is None
    assert shown["gasPrice"] == shown["maxFeePerGas"] == hex(100_000_000 + TIP)
    own_sample.chain.builder.seal()
    assert parsed(own_sample.rendered.transaction(sent))["blockNumber"] == "0x3"


def test_what_is_not_there_is_none(sample: SampleChain) -> None:
    assert sample.rendered.transaction(bytes(32)) is None
    assert sample.rendered.receipt(bytes(32)) is None
    assert sample.rendered.raw_transaction(bytes(32)) is None
    for place in ((2, len(sample.hashes)), (2, -1), (3, 0)):
        assert sample.rendered.transaction_at(*place) is None
        assert sample.rendered.raw_transaction_at(*place) is None


def _raw_of(shown: dict[str, Any]) -> bytes:
    kind = int(shown["type"], 16)
    prices = ["gasPrice"] if kind < 2 else ["maxPriorityFeePerGas", "maxFeePerGas"]
    items = [*_numbers(shown, "nonce", *prices, "gas"), _bytes(shown["to"])]
    items += [*_numbers(shown, "value"), _bytes(shown["input"])]
    if kind == 0:
        return bytes(rlp.encode([*items, *_numbers(shown, "v", "r", "s")]))
    items = [*_numbers(shown, "chainId"), *items]
    items.append(
        [[_bytes(a["address"]), [_bytes(k) for k in a["storageKeys"]]] for a in shown["accessList"]]
    )
    if kind == 4:
        items.append([_authorization(signed) for signed in shown["authorizationList"]])
    return bytes([kind]) + bytes(rlp.encode([*items, *_numbers(shown, "yParity", "r", "s")]))


def _authorization(shown: dict[str, str]) -> list[Any]:
    signature = _numbers(shown, "nonce", "yParity", "r", "s")
    return [*_numbers(shown, "chainId"), _bytes(shown["address"]), *signature]


def _numbers(shown: dict[str, Any], *names: str) -> list[Any]:
    return [rlp.sedes.big_endian_int.serialize(int(shown[name], 16)) for name in names]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])
