"""Who is rejected for failures that nobody pays for, and who is not."""

from __future__ import annotations

import pytest

from entresol._native import keccak256
from entresol.chain.mempool.account_rules import MAX_FAILURES, Penalties
from entresol.errors import AccountRejection, PoolRejection
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.accounts import fill

PAYER, PAYMASTER = Address(b"\x0a" * 20), Address(b"\x0b" * 20)
FAILED = AccountRejection("paymaster", "late")


def sponsored(sender: Address, nonce: int = 0) -> Transaction:
    payload = fill(sender, nonce=nonce, paymaster=PAYMASTER)
    raw = bytes(sender) + bytes([nonce])
    return Transaction(payload=payload, sender=sender, hash=Hash32(keccak256(raw)), raw=raw)


def with_a_failing_paymaster() -> Penalties:
    """Return penalties after strangers have failed with the paymaster."""
    penalties = Penalties()
    for number in range(MAX_FAILURES):
        penalties.record(sponsored(Address(bytes([number + 1]) * 20)), FAILED)
    return penalties


def test_who_has_paid_is_let_through_until_one_of_its_own_fails() -> None:
    penalties = with_a_failing_paymaster()
    with pytest.raises(PoolRejection, match="has let transactions fail that it had"):
        penalties.check(sponsored(PAYER))
    penalties.paid(PAYER)
    penalties.check(sponsored(PAYER))
    penalties.record(sponsored(PAYER), FAILED)
    assert not penalties.has_paid(PAYER)
    with pytest.raises(PoolRejection, match="has let transactions fail that it had"):
        penalties.check(sponsored(PAYER, 1))


def test_a_copy_knows_who_has_paid_and_learns_nothing_from_what_comes_later() -> None:
    penalties = with_a_failing_paymaster()
    penalties.paid(PAYER)
    copied = penalties.copy()
    assert copied is not None
    copied.check(sponsored(PAYER))
    penalties.clear()
    penalties.paid(PAYMASTER)
    assert copied.has_paid(PAYER)
    assert not copied.has_paid(PAYMASTER)


def test_without_failures_a_copy_still_knows_who_has_paid() -> None:
    penalties = Penalties()
    assert penalties.copy() is None
    penalties.paid(PAYER)
    copied = penalties.copy()
    assert copied is not None
    assert copied.has_paid(PAYER)
