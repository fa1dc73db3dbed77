"""The price of blob gas against the pseudocode of EIP-4844 and EIP-7918, and the header fields of each fork."""

from __future__ import annotations

import msgspec
import pytest

from entresol._native import Rules, blob_base_fee
from entresol.chain.blob_fees import BLOB_SCHEDULES, BlobFees
from entresol.primitives.headers import Header
from entresol.primitives.values import Hash32
from tests.support.chain.records import fees_of_header

BLOB_GAS = 2**17
HEADER = Header(
    parent_hash=Hash32.zero(),
    state_root=Hash32.zero(),
    number=1,
    gas_limit=30_000_000,
    timestamp=1,
    base_fee_per_gas=10**9,
)
FORKS = {name: Rules(1, name) for name in BLOB_SCHEDULES}
NAMES = ("withdrawals_root", "excess_blob_gas", "parent_beacon_block_root", "requests_hash")


@pytest.mark.parametrize(
    ("fork", "present"),
    [("london", 0), ("paris", 0), ("shanghai", 1), ("cancun", 3), ("prague", 4), ("osaka", 4)],
)
def test_each_fork_adds_its_fields_to_headers(fork: str, present: int) -> None:
    fees = BlobFees(Rules(1, fork), has_fork_fields=True)
    for parent in (None, HEADER):
        fields = fees.fork_fields(parent)
        given_fields = [name for name in NAMES if getattr(fields, name) is not None]
        assert given_fields == list(NAMES[:present])


def test_an_l2_has_none_of_them_and_a_constant_price() -> None:
    fees = BlobFees(Rules(1, "osaka"), has_fork_fields=False)
    assert all(getattr(fees.fork_fields(HEADER), name) is None for name in NAMES)
    assert (fees_of_header(HEADER, fees.prices), fees.next_base_fee(HEADER)) == ((1, 0.0), 1)


def test_the_price_of_a_block_is_that_of_its_excess() -> None:
    fees = BlobFees(Rules(1, "prague"), has_fork_fields=True)
    full = msgspec.structs.replace(
        HEADER, withdrawals_root=Hash32.zero(), blob_gas_used=9 * BLOB_GAS, excess_blob_gas=10**7
    )
    price = blob_base_fee(FORKS["prague"], 10**7)
    assert price is not None
    assert price > 1
    assert fees_of_header(full, fees.prices) == (price, 1.0)
    assert fees.next_base_fee(full) == blob_base_fee(FORKS["prague"], 10**7 + 3 * BLOB_GAS)
    assert fees_of_header(HEADER, fees.prices) == (0, 0.0)


def test_the_schedules_agree_with_those_of_the_engine() -> None:
    for fork, schedule in BLOB_SCHEDULES.items():
        assert schedule.max == FORKS[fork].max_blobs
    assert [it.max_blobs_per_transaction for it in FORKS.values()] == [6, 9, 6]
