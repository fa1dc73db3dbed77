"""Transactions of a remote chain: all of Ethereum's types are read, others are named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from entresol.errors import MalformedValue
from entresol.features.fork.replay.remote_transactions import (
    NOT_EXECUTED,
    is_sent_raw,
    read_transaction,
)
from tests.support.chain.sample_chain import SampleChain, sample_chain

ETHEREUM = ("legacy", "unprotected", "access_list", "fee_market", "set_code", "creation", "failure")


@pytest.fixture(scope="module")
def sample() -> Iterator[SampleChain]:
    with sample_chain() as made:
        yield made


@pytest.mark.parametrize("name", ETHEREUM)
def test_a_transaction_of_ethereum_is_read_as_it_was_sent(sample: SampleChain, name: str) -> None:
    fields = sample.transaction(name)
    assert not is_sent_raw(fields)
    assert read_transaction(fields) == (
        sample.hashes[name],
        sample.sent[name].type,
        sample.sent[name],
        "",
    )


@pytest.mark.parametrize("name", ETHEREUM)
def test_a_transaction_without_parity_is_read_by_v_alone(sample: SampleChain, name: str) -> None:
    fields = {key: value for key, value in sample.transaction(name).items() if key != "yParity"}
    assert read_transaction(fields).transaction == sample.sent[name]


def test_a_transaction_without_a_type_is_a_legacy_one(sample: SampleChain) -> None:
    fields = {key: value for key, value in sample.transaction("legacy").items() if key != "type"}
    assert read_transaction(fields).transaction == sample.sent["legacy"]


def test_a_transaction_with_data_instead_of_input_is_read(sample: SampleChain) -> None:
    fields = sample.transaction("access_list")
    fields["data"] = fields.pop("input")
    assert read_transaction(fields).transaction == sample.sent["access_list"]


def test_a_transaction_of_the_zk_stack_is_read_by_its_raw_bytes(sample: SampleChain) -> None:
    fields, sent = sample.transaction("deployment"), sample.sent["deployment"]
    assert is_sent_raw(fields)
    assert read_transaction(fields, sent.raw).transaction == sent
    assert "does not have" in read_transaction(fields).note
    assert "it is invalid" in read_transaction(fields, b"\x71\xff").note


@pytest.mark.parametrize("missing", [("v", "r", "s", "yParity"), ("v", "yParity")])
def test_a_transaction_without_a_signature_is_impersonated(
    sample: SampleChain, missing: tuple[str, ...]
) -> None:
    fields = sample.transaction("legacy")
    for name in missing:
        fields.pop(name, None)
    found = read_transaction(fields | {"r": "0x0", "s": "0x0"}).transaction
    assert found is not None
    assert found.is_impersonated
    assert (found.hash, found.sender) == (sample.hashes["legacy"], sample.sent["legacy"].sender)


@pytest.mark.parametrize("kind", [*NOT_EXECUTED, 0x05, 0x63, 0x80])
def test_a_type_that_cannot_be_executed_is_named(kind: int) -> None:
    found = read_transaction({"type": hex(kind), "hash": "0x" + "11" * 32})
    assert found.transaction is None
    assert found.note.startswith(f"type {kind:#x}, ")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"hash": None}, "hash"),
        ({"from": "0x11"}, "from"),
        ({"nonce": None}, "nonce"),
        ({"gas": "x"}, "gas"),
        ({"accessList": {}}, "accessList"),
        ({"accessList": ["x"]}, "an object"),
        ({"maxFeePerGas": None}, "maxFeePerGas"),
        ({"type": {}}, "type"),
    ],
)
def test_what_no_node_responds_with_is_an_error(
    sample: SampleChain, change: dict[str, Any], problem: str
) -> None:
    fields = sample.transaction("failure") | change
    if change.get("accessList") == {}:
        fields["accessList"] = {"a": 1}
    with pytest.raises(MalformedValue, match=problem):
        read_transaction(fields)


WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    "",
    "x",
    "0x",
    "0xzz",
    "0x" + "f" * 64,
    "0x" + "f" * 65,
    [],
    ["x"],
    [{}],
    {},
    {"a": 1},
)


@pytest.mark.parametrize("name", ETHEREUM)
def test_a_member_that_is_anything_is_read_or_an_error_of_the_remote(
    sample: SampleChain, name: str
) -> None:
    fields = sample.transaction(name)
    for member in fields:
        for value in WRONG:
            with suppress(MalformedValue):
                assert read_transaction(fields | {member: value}).hash
