"""The operator's keys: which one signs which step, and how messages name it."""

from __future__ import annotations

import pytest

from entresol.l1.operator_keys import OperatorKeys
from entresol.primitives.values import Hash32
from tests.support.rollup.layer_ones import ACCOUNTS

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
