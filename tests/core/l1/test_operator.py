"""The gas limits of what the operator signs."""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest

from entresol.l1.operator import MAX_TRANSACTION_GAS, Operator, OperatorKeys
from entresol.primitives.values import Address, Hash32
from tests.support.rollup.layer_ones import ACCOUNTS, Embedded

A, B, C = (account.secret for account in ACCOUNTS[:3])


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (OperatorKeys.of(A), [(A, "the operator", "--operator-key")]),
        (OperatorKeys.of(A, A, A), [(A, "the operator", "--operator-key")]),
        (
            OperatorKeys.of(A, B),
            [
                (A, "the operator that commits and executes", "--operator-key"),
                (B, "the operator that proves", "--prove-key"),
            ],
        ),
        (
            OperatorKeys.of(A, None, C),
            [
                (A, "the operator that commits and proves", "--operator-key"),
                (C, "the operator that executes", "--execute-key"),
            ],
        ),
        (
            OperatorKeys.of(A, B, B),
            [
                (A, "the operator that commits", "--operator-key"),
                (B, "the operator that proves and executes", "--prove-key"),
            ],
        ),
        (
            OperatorKeys.of(A, B, C),
            [
                (A, "the operator that commits", "--operator-key"),
                (B, "the operator that proves", "--prove-key"),
                (C, "the operator that executes", "--execute-key"),
            ],
        ),
    ],
)
def test_each_distinct_key_has_its_steps_and_a_name(
    keys: OperatorKeys, expected: list[tuple[Hash32, str, str]]
) -> None:
    assert [(key.secret, key.name, key.flag) for key in keys.keys] == expected
    assert keys.deployer.secret == A


def test_no_secret_is_in_the_representation() -> None:
    for text in (repr(OperatorKeys.of(A, B)), repr(OperatorKeys.of(A).deployer)):
        assert A.hex() not in text
        assert str(ACCOUNTS[0].address) in text


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

    with closing(embedded.chain):
        assert asyncio.run(sign()) == limit
