"""The gas limits of what the operator signs."""

from __future__ import annotations

import asyncio

import pytest

from entresol.l1.operator import MAX_TRANSACTION_GAS, Operator
from entresol.primitives.values import Address
from tests.support.rollup.layer_ones import ACCOUNTS, Embedded


@pytest.mark.parametrize(
    ("estimate", "limit"),
    [
        (100_000, 130_000),
        (12_000_000, 15_600_000),
        (14_000_000, MAX_TRANSACTION_GAS),
        (MAX_TRANSACTION_GAS, MAX_TRANSACTION_GAS),
        (MAX_TRANSACTION_GAS + 1, MAX_TRANSACTION_GAS + 1),
    ],
)
def test_a_gas_limit_has_a_margin_within_what_a_transaction_of_l1_may_have(
    monkeypatch: pytest.MonkeyPatch, estimate: int, limit: int
) -> None:
    embedded = Embedded()

    async def estimate_gas(*_: object, **_named: object) -> int:
        return estimate

    monkeypatch.setattr(embedded.l1, "estimate_gas", estimate_gas)

    async def sign() -> int:
        operator = Operator(embedded.l1, ACCOUNTS[0].secret)
        return (await operator.sign_call(Address(b"\x11" * 20), b"\1")).payload.gas_limit

    try:
        assert asyncio.run(sign()) == limit
    finally:
        embedded.chain.close()
