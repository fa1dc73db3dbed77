"""The pending settlement transaction, and the operation that it does."""

from __future__ import annotations

import pytest

from entresol.errors import MalformedValue
from entresol.l1.contracts import BatchTotals
from entresol.l1.operator import SignedTransaction
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions import sign
from entresol.primitives.values import Address
from entresol.rollup.settlement.pending_tx import PendingSettlement, SettlementOperation
from tests.support.chain.dev_chain import fee_market

COMMIT, PROVE, EXECUTE = SettlementStep


def signed(max_fee: int) -> SignedTransaction:
    payload = fee_market(7, Address(b"\x11" * 20), chain_id=9, data=b"\x01", fee=max_fee, tip=1)
    transaction = sign(payload, b"\x01" * 32)
    return SignedTransaction(7, transaction.hash, transaction.raw)


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (SettlementOperation(COMMIT, 4, 4), "commit of batch 4"),
        (SettlementOperation(EXECUTE, 1, 3), "execute of batches 1 to 3"),
    ],
)
def test_an_operation_is_named_by_its_step_and_batches(
    operation: SettlementOperation, text: str
) -> None:
    assert str(operation) == text


@pytest.mark.parametrize(
    ("operation", "totals", "expected"),
    [
        (SettlementOperation(COMMIT, 4, 4), BatchTotals(3, 1, 0), True),
        (SettlementOperation(COMMIT, 4, 4), BatchTotals(4, 1, 0), False),
        (SettlementOperation(COMMIT, 4, 4), BatchTotals(2, 1, 0), False),
        (SettlementOperation(PROVE, 2, 3), BatchTotals(3, 1, 0), True),
        (SettlementOperation(PROVE, 2, 3), BatchTotals(2, 1, 0), False),
        (SettlementOperation(PROVE, 2, 3), BatchTotals(3, 2, 0), False),
        (SettlementOperation(EXECUTE, 1, 2), BatchTotals(3, 2, 0), True),
        (SettlementOperation(EXECUTE, 1, 2), BatchTotals(3, 1, 0), False),
        (SettlementOperation(EXECUTE, 1, 2), BatchTotals(3, 2, 2), False),
    ],
)
def test_an_operation_is_next_if_l1_has_what_it_builds_on_and_not_itself(
    operation: SettlementOperation, totals: BatchTotals, expected: bool
) -> None:
    assert operation.is_next(totals) is expected


def test_all_attempts_are_recorded_and_the_last_is_sent_first() -> None:
    first, second = signed(10), signed(20)
    operation = SettlementOperation(PROVE, 3, 5)
    pending = PendingSettlement.of(operation, first).with_attempt(second)
    assert pending.operation == operation
    assert pending.transactions() == [second, first]
    assert PendingSettlement.decode(pending.encode()) == pending


def test_attempts_are_in_the_order_of_their_fees() -> None:
    pending = PendingSettlement.of(SettlementOperation(PROVE, 3, 5), signed(20))
    assert pending.with_attempt(signed(10)).transactions() == [signed(20), signed(10)]


def test_malformed_bytes_are_rejected() -> None:
    with pytest.raises(MalformedValue, match="the pending settlement transaction is not readable"):
        PendingSettlement.decode(b"\x93\x00")
