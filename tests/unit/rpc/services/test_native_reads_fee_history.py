"""What blocks contribute to a fee history."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from entresol.chain.chain import Chain
from entresol.errors import InvalidParams, MalformedValue
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord, TransactionResult
from entresol.primitives.transactions import FeeMarketTransaction, Transaction, sign
from entresol.primitives.values import Hash32
from entresol.rpc.services.native_reads import FEE_HISTORY_LIMITS, check_percentiles
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import FEE, NOBODY, deposit, seal_block, transaction
from tests.support.chain.fee_histories import fees_of, history_over


@pytest.fixture
def chain(manual: Chain) -> Chain:
    return manual


def test_an_empty_block_has_a_base_fee(chain: Chain) -> None:
    chain.builder.seal()
    assert fees_of(chain.blocks.record(1), chain.ledger.blob_fees.prices, (50,)) == {
        "baseFeePerGas": hex(FEE),
        "gasUsedRatio": 0.0,
        "reward": ["0x0"],
        "baseFeePerBlobGas": "0x1",
        "blobGasUsedRatio": 0.0,
    }


def test_the_ratio_is_at_most_one(chain: Chain) -> None:
    # As blocks were built once: the transaction uses all of its gas, which is more than their limit.
    heavy = replace(deposit(0, gas_limit=72_000_000), to_mint=0)
    executed = seal_block(chain.ledger, Transaction.from_l1(heavy))
    assert executed.header.gas_used > executed.header.gas_limit
    assert fees_of(chain.blocks.record(1))["gasUsedRatio"] == 1.0


def test_the_ratio_is_of_the_gas_limit(chain: Chain) -> None:
    InlineSequencer(chain).submit(transaction(0).raw)
    header = chain.builder.seal()
    assert fees_of(chain.blocks.record(1))["gasUsedRatio"] == 21_000 / header.gas_limit


def test_tips_are_in_order_of_size(chain: Chain) -> None:
    for sender, tip in enumerate((30, 10, 20)):
        InlineSequencer(chain).submit(transaction(0, by=sender, tip=tip).raw)
    chain.builder.seal()
    thirds = (0, 33, 34, 66, 67, 100)
    tips = fees_of(chain.blocks.record(1), percentiles=thirds)["reward"]
    assert [int(tip, 16) for tip in tips] == [10, 10, 20, 20, 30, 30]


def test_a_deposit_has_no_tip(chain: Chain) -> None:
    chain.enqueue(deposit(0))
    chain.builder.seal()
    assert fees_of(chain.blocks.record(1), percentiles=(100,))["reward"] == ["0x0"]


@pytest.mark.parametrize(
    ("count", "newest", "first"),
    [(2, 5, 4), (0, 5, 5), (100, 1, 0), (10**6, 5_000, 5_001 - FEE_HISTORY_LIMITS.blocks)],
)
def test_a_history_ends_at_genesis_or_at_its_limit(count: int, newest: int, first: int) -> None:
    assert history_over(b"").first(count, newest, 0) == first


@pytest.mark.parametrize(
    ("percentiles", "complaint"),
    [
        ([101], "each is from 0 to 100, got 101"),
        ([-1], "each is from 0 to 100, got -1"),
        ([50, 40], "they must not fall, got 40 after 50"),
        ([float("nan")], "each is from 0 to 100, got nan"),
        ([50] * 101, "at most 100 are allowed, got 101"),
    ],
)
def test_percentiles_that_are_none_are_rejected(percentiles: list[float], complaint: str) -> None:
    with pytest.raises(InvalidParams, match=complaint):
        check_percentiles(percentiles)


@pytest.mark.parametrize(
    ("fee_cap", "tip", "base_fee", "expected"), [(10, 3, 5, 3), (10, 8, 5, 5), (4, 2, 5, 0)]
)
def test_a_tip_is_what_the_cap_leaves(fee_cap: int, tip: int, base_fee: int, expected: int) -> None:
    payload = FeeMarketTransaction(
        chain_id=1,
        nonce=0,
        max_priority_fee_per_gas=tip,
        max_fee_per_gas=fee_cap,
        gas_limit=21_000,
        to=NOBODY,
    )
    signed = sign(payload, b"\1" * 32)
    header = Header(
        parent_hash=Hash32.zero(),
        state_root=Hash32.zero(),
        number=1,
        gas_limit=30_000_000,
        gas_used=21_000,
        timestamp=1,
        base_fee_per_gas=base_fee,
    )
    result = TransactionResult(succeeded=True, gas_used=21_000)
    sent = (signed.raw, bytes(signed.sender))
    record = BlockRecord(header.encode(), (sent,), (result,), (), ())
    assert fees_of(record, percentiles=(50,))["reward"] == [hex(expected)]


def test_a_record_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(MalformedValue):
        history_over(b"\1\x90").render(1, 1, ())
