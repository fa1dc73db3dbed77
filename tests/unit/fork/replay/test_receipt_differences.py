"""Receipts are compared: status, gas, contract and logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from entresol.errors import MalformedValue
from entresol.fork.replay.receipt_differences import differences
from tests.support.chain.sample_chain import SampleChain, sample_chain


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


def test_another_contract_is_named(sample: SampleChain) -> None:
    (found,) = compared(sample, "creation", contractAddress=None)
    assert found.startswith("contractAddress is 0x")
    assert found.endswith("none at the remote")


def test_a_receipt_without_status_has_none_to_compare(sample: SampleChain) -> None:
    assert compared(sample, "failure", status=None) == []


def test_a_member_that_is_anything_is_compared_or_an_error_of_the_remote(
    sample: SampleChain,
) -> None:
    wrong: tuple[Any, ...] = (
        None,
        True,
        -1,
        "",
        "x",
        "0x" + "f" * 65,
        [],
        ["x"],
        [{}],
        [{"topics": 1}],
        {},
        {"a": 1},
    )
    (log,) = sample.receipt("access_list")["logs"]
    for value in wrong:
        for member in sample.receipt("access_list"):
            with suppress(MalformedValue):
                compared(sample, "access_list", **{member: value})
        for member in log:
            with suppress(MalformedValue):
                compared(sample, "access_list", logs=[log | {member: value}])
