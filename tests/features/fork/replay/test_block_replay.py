"""Blocks of a remote chain, read and executed again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from entresol.errors import RemoteMalformed
from entresol.execution.call_frames import CALL_FRAMES, decode_call_frame
from entresol.execution.evm_env import MAX_GAS_LIMIT
from entresol.features.fork.replay.block_replay import (
    BlockToReplay,
    TransactionReplay,
    differences,
    executed_header,
    find_transaction,
    keys_of,
    read_block,
    replay_block,
)
from entresol.features.fork.replay.remote_transactions import read_transaction
from entresol.primitives.anchor import INITIAL_BASE_FEE, header_of_block
from entresol.primitives.values import Hash32
from tests.support.chain.api_client import ApiClient
from tests.support.chain.sample_chain import SLOT, SampleChain, sample_chain
from tests.support.fork.past import PastOfChain


def block(**more: str) -> dict[str, str]:
    return {"number": "0x5", "hash": f"0x{5:064x}"} | more


@pytest.mark.parametrize(
    ("hardfork", "expected"), [("byzantium", 0), ("berlin", 0), ("london", INITIAL_BASE_FEE)]
)
def test_a_block_before_london_has_no_base_fee(hardfork: str, expected: int) -> None:
    header = executed_header(header_of_block(block()), hardfork)
    assert header.base_fee_per_gas == expected


@pytest.mark.parametrize("given", [{}, {"gasLimit": "0x0"}])
def test_a_block_that_says_no_gas_limit_has_any(given: dict[str, str]) -> None:
    header = executed_header(header_of_block(block(**given)), "osaka")
    assert header.gas_limit == MAX_GAS_LIMIT


@pytest.fixture(scope="module")
def sample() -> Iterator[SampleChain]:
    with sample_chain() as made:
        yield made


def compared(sample: SampleChain, name: str, **change: Any) -> list[str]:
    """Return what differs between a result and its own receipt, with some members of it changed."""
    result = sample.record.results[sample.index(name)]
    return [str(difference) for difference in differences(result, sample.receipt(name) | change)]


@pytest.mark.parametrize(
    "name", ["legacy", "access_list", "fee_market", "set_code", "creation", "failure"]
)
def test_a_receipt_of_the_same_execution_is_the_same(sample: SampleChain, name: str) -> None:
    assert compared(sample, name) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"status": "0x0"}, "status is 1 here, and 0 at the remote"),
        ({"gasUsed": "0x5208"}, "here, and 21,000 at the remote"),
        ({"logs": []}, "number of logs is 1 here, and 0 at the remote"),
    ],
)
def test_a_member_that_differs_is_named_with_both_values(
    sample: SampleChain, change: dict[str, Any], expected: str
) -> None:
    (found,) = compared(sample, "access_list", **change)
    assert expected in found


@pytest.mark.parametrize(
    "change", [{"data": "0xff"}, {"topics": []}, {"address": "0x" + "77" * 20}]
)
def test_a_log_that_differs_is_named(sample: SampleChain, change: dict[str, Any]) -> None:
    (log,) = sample.receipt("access_list")["logs"]
    (found,) = compared(sample, "access_list", logs=[log | change])
    assert found.startswith("log 0 is 0x")


def test_a_receipt_without_status_has_none_to_compare(sample: SampleChain) -> None:
    assert compared(sample, "failure", status=None) == []


def to_replay(sample: SampleChain) -> BlockToReplay:
    """Return block 2 of the chain, as a remote would show it."""
    fields = sample.block(full=True)
    raws = {it.hash: it.raw for it in sample.sent.values() if it.type == 0x71}
    transactions = [
        read_transaction(it, raws.get(Hash32.parse(it["hash"]))) for it in fields["transactions"]
    ]
    receipts = [{"name": ""}] * len(transactions)
    for name in sample.hashes:
        receipts[sample.index(name)] = sample.receipt(name)
    return BlockToReplay(
        sample.record.header(), Hash32.parse(fields["hash"]), transactions, receipts
    )


def replayed(
    sample: SampleChain, block: BlockToReplay | None = None, **options: Any
) -> list[TransactionReplay]:
    """Execute block 2 again, on the state after block 1."""
    sealed = sample.chain.ledger.sealed_block(2)
    block = to_replay(sample) if block is None else block
    return list(replay_block(block, sealed.rules, sealed.snapshot, **options))


def test_no_receipt_differs_and_a_deposit_is_named(sample: SampleChain) -> None:
    found = replayed(sample)
    assert [it.index for it in found] == list(range(9))
    deposit, *others = found
    assert deposit.result is None
    assert deposit.note == "it cannot be executed here: type 0xff, a priority transaction of Era"
    assert [(other.note, other.differences) for other in others] == [("", [])] * 8
    assert all(other.is_same for other in others)


def test_the_wanted_transaction_is_the_last_one_and_has_a_trace(sample: SampleChain) -> None:
    index = sample.index("failure")
    *before, last = replayed(sample, traced=index, options=CALL_FRAMES)
    assert (len(before), last.index) == (index, index)
    assert all(it.trace is None for it in before)
    assert last.trace is not None
    assert decode_call_frame(last.trace).error == "execution reverted"
    assert last.failure is not None
    assert last.is_same


def test_every_step_is_traced_if_that_is_asked_for(sample: SampleChain) -> None:
    *_, last = replayed(sample, traced=sample.index("failure"), options=b"{}")
    assert last.trace is not None
    assert [it["op"] for it in msgspec.json.decode(last.trace)["structLogs"]] == [
        "PUSH0",
        "PUSH0",
        "REVERT",
    ]


def test_a_transaction_that_is_invalid_here_is_named_and_the_others_go_on(
    sample: SampleChain,
) -> None:
    block = to_replay(sample)
    legacy = sample.index("legacy")
    transactions = list(block.transactions)
    # The same nonce a second time.
    transactions[-1] = transactions[legacy]
    *others, last = replayed(sample, block._replace(transactions=transactions))
    assert last.result is None
    assert last.note.startswith("it is rejected here: nonce too low")
    assert others[legacy].is_same


def test_what_a_block_surely_reads_is_known_before(sample: SampleChain) -> None:
    keys = keys_of(to_replay(sample))
    assert len(keys) == len(set(keys))
    for sent in sample.sent.values():
        assert ("account", bytes(sent.sender)) in keys
    assert [key[2] for key in keys if key[0] == "slot"] == [bytes(SLOT)]


@pytest.fixture
def remote(sample: SampleChain) -> Any:
    """Return the chain as a remote."""
    return PastOfChain(ApiClient(sample.chain), 2)


def test_a_block_is_read_with_its_transactions_and_receipts(remote: Any) -> None:
    block = asyncio.run(read_block(remote, 2))
    assert block.header.hash() == block.hash
    assert [transaction.hash for transaction in block.transactions] == [
        Hash32.parse(receipt["transactionHash"]) for receipt in block.receipts
    ]
    assert sum(transaction.transaction is None for transaction in block.transactions) == 1
    assert {method for method, _ in remote.kept} == {
        "eth_getRawTransactionByHash",
        "eth_getBlockReceipts",
    }


def test_a_remote_without_the_method_for_all_receipts_is_asked_for_each(remote: Any) -> None:
    remote.errors["eth_getBlockReceipts"] = (-32601, "method not found")
    assert len(asyncio.run(read_block(remote, 2)).receipts) == 9


def test_a_remote_without_raw_transactions_has_some_that_are_not_executed(remote: Any) -> None:
    remote.errors["eth_getRawTransactionByHash"] = (-32601, "method not found")
    notes = [
        transaction.note
        for transaction in asyncio.run(read_block(remote, 2)).transactions
        if transaction.note
    ]
    assert notes[-1] == "type 0x71, whose raw bytes the remote does not have"


def test_a_transaction_is_found_in_its_block(remote: Any, sample: SampleChain) -> None:
    found = asyncio.run(find_transaction(remote, sample.hashes["creation"]))
    assert found == (Hash32.parse(sample.block()["hash"]), sample.index("creation"))


@pytest.mark.parametrize(
    ("members", "note"),
    [
        ({"sendRoot": "0x", "sendCount": "0x", "l1BlockNumber": "0x1"}, "ArbSys"),
        ({"l1BatchNumber": "0x1"}, "EraVM"),
    ],
)
def test_a_chain_with_rules_of_its_own_is_named(
    remote: Any, sample: SampleChain, members: dict[str, str], note: str
) -> None:
    fields = {it: value for it, value in sample.block(full=True).items() if it != "l1BatchNumber"}
    remote.results["eth_getBlockByNumber"] = lambda *_: fields | members
    assert note in asyncio.run(read_block(remote, 2)).notes[0]


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("eth_getBlockByNumber", None),
        ("eth_getBlockByNumber", []),
        ("eth_getBlockByNumber", {}),
        (
            "eth_getBlockByNumber",
            {"number": "0x2", "hash": "0x" + "11" * 32, "transactions": ["0x"]},
        ),
        ("eth_getBlockReceipts", []),
        ("eth_getBlockReceipts", [{}] * 9),
    ],
)
def test_a_remote_that_lies_is_named(remote: Any, method: str, result: object) -> None:
    remote.results[method] = lambda *_: result
    with pytest.raises(RemoteMalformed, match="http://remote"):
        asyncio.run(read_block(remote, 2))


@pytest.mark.parametrize("result", [None, [], {}, {"blockHash": "0x1", "transactionIndex": "0x0"}])
def test_a_transaction_that_is_in_no_block_is_named(remote: Any, result: object) -> None:
    remote.results["eth_getTransactionByHash"] = lambda *_: result
    with pytest.raises(RemoteMalformed):
        asyncio.run(find_transaction(remote, Hash32.zero()))
