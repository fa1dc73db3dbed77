"""Receipt objects: every field, real sums, and the contracts that were made."""

from __future__ import annotations

import json
from functools import reduce
from operator import or_

import pytest

from entresol._native import keccak256
from entresol.primitives.addresses import create_address
from entresol.primitives.headers import Header
from entresol.primitives.l2_to_l1_logs import BOOTLOADER, L1_MESSENGER
from entresol.primitives.records import BlockRecord, TransactionResult
from entresol.primitives.transactions import load
from entresol.primitives.values import Hash32
from entresol.rpc.render.chain_objects import (
    CONTRACT_DEPLOYED,
    CONTRACT_DEPLOYER,
    DEPLOYMENTS,
    receipts_json,
)
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import transaction
from tests.support.chain.sample_chain import FEE, MADE, SENDERS, TIP, SampleChain, parsed, payloads

KEYS = {
    "transactionHash",
    "transactionIndex",
    "blockHash",
    "blockNumber",
    "l1BatchTxIndex",
    "l1BatchNumber",
    "from",
    "to",
    "cumulativeGasUsed",
    "gasUsed",
    "contractAddress",
    "logs",
    "l2ToL1Logs",
    "status",
    "logsBloom",
    "type",
    "effectiveGasPrice",
}
NAMES = ["deposit", *payloads()]


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_there(sample: SampleChain, name: str) -> None:
    receipt, transaction = sample.receipt(name), sample.transaction(name)
    assert set(receipt) == KEYS
    shared = ("blockHash", "blockNumber", "transactionIndex", "from", "to", "type")
    assert [receipt[key] for key in shared] == [transaction[key] for key in shared]
    assert receipt["transactionHash"] == transaction["hash"]
    assert receipt["effectiveGasPrice"] == transaction["gasPrice"]
    assert receipt["status"] == ("0x0" if name == "failure" else "0x1")
    assert len(receipt["logsBloom"]) == 514


def test_the_receipts_of_a_block_are_those_of_its_transactions(sample: SampleChain) -> None:
    receipts = parsed(sample.rendered.block_receipts(2))
    names = sorted(NAMES, key=sample.index)
    assert receipts == [sample.receipt(name) for name in names]
    assert parsed(sample.rendered.block_receipts(1)) == []


def test_a_receipt_has_the_hash_of_its_transaction_also_without_a_signature() -> None:
    header = Header(
        parent_hash=Hash32.zero(),
        state_root=Hash32.zero(),
        number=1,
        gas_limit=30_000_000,
        timestamp=1,
        base_fee_per_gas=7,
    )
    for payload in (payloads()["legacy"], payloads()["access_list"], payloads()["fee_market"]):
        # As anvil stores those that it impersonates.
        loaded = load(payload.encode(), SENDERS[0])
        result = TransactionResult(succeeded=True, gas_used=21_000)
        sent = (loaded.raw, bytes(loaded.sender))
        record = BlockRecord(header.encode(), (sent,), (result,), (), ())
        (receipt,) = json.loads(receipts_json(record.encode(), None, None, 1))
        assert receipt["transactionHash"] == str(loaded.hash) == str(record.transaction_hash(0))
        assert loaded.hash != keccak256(loaded.raw)


def test_gas_adds_up_to_that_of_the_block(sample: SampleChain) -> None:
    total = 0
    for receipt in parsed(sample.rendered.block_receipts(2)):
        total += int(receipt["gasUsed"], 16)
        assert receipt["cumulativeGasUsed"] == hex(total)
    assert sample.block()["gasUsed"] == hex(total)


def test_the_bloom_of_a_block_is_the_union_of_those_of_its_receipts(sample: SampleChain) -> None:
    blooms = [int(it["logsBloom"], 16) for it in parsed(sample.rendered.block_receipts(2))]
    assert int(sample.block()["logsBloom"], 16) == reduce(or_, blooms)
    assert any(blooms)


def test_the_receipt_reports_what_the_sender_paid(sample: SampleChain) -> None:
    receipt = sample.receipt("failure")
    sender = SENDERS[list(payloads()).index("failure")]
    paid = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    account = sample.chain.ledger.latest.account(sender)
    assert account is not None
    assert account.balance == 100 * 10**18 - paid
    assert receipt["effectiveGasPrice"] == hex(100_000_000 + TIP)
    assert sample.receipt("deposit")["effectiveGasPrice"] == hex(FEE)


def test_a_creation_names_the_contract(sample: SampleChain) -> None:
    sender = SENDERS[list(payloads()).index("creation")]
    receipt = sample.receipt("creation")
    assert receipt["to"] is None
    assert receipt["contractAddress"] == str(create_address(sender, 0))


def test_the_deployer_names_the_contract_it_made_for_the_sender(sample: SampleChain) -> None:
    assert sample.receipt("deployment")["contractAddress"] == str(MADE)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"creation", "deployment"}))
def test_others_make_no_contract(sample: SampleChain, name: str) -> None:
    assert sample.receipt(name)["contractAddress"] is None


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


def test_a_pending_transaction_has_no_receipt(own_sample: SampleChain) -> None:
    sent = InlineSequencer(own_sample.chain).submit(transaction(1).raw)
    assert own_sample.rendered.receipt(sent) is None
