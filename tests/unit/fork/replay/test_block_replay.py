"""A block is executed again from the JSON of a node, and compared with its receipts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from entresol.execution.trace.call_frames import CALL_FRAMES, decode_call_frame
from entresol.fork.replay.block_replay import (
    BlockToReplay,
    TransactionReplay,
    keys_of,
    replay_block,
)
from entresol.fork.replay.remote_transactions import read_transaction
from entresol.primitives.values import Hash32
from tests.support.chain.sample_chain import SLOT, SampleChain, sample_chain


@pytest.fixture(scope="module")
def sample() -> Iterator[SampleChain]:
    with sample_chain() as made:
        yield made


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


def test_a_receipt_that_differs_is_counted(sample: SampleChain) -> None:
    block = to_replay(sample)
    receipts = [receipt | {"gasUsed": "0x1"} for receipt in block.receipts]
    found = replayed(sample, block._replace(receipts=receipts))
    assert [it.is_same for it in found] == [False] * 9
    assert [len(it.differences) for it in found] == [0] + [1] * 8


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
