"""Transactions and code of state files, there and back."""

from __future__ import annotations

import pytest

from entresol.chain.transaction_json import read_payload
from entresol.errors import MalformedValue
from entresol.features.dev.state_file.anvil_json import (
    bytecode_fields,
    read_bytecode,
    transaction_fields,
)
from entresol.primitives.transactions import load
from entresol.primitives.transactions.ethereum import EthereumTransaction
from tests.support.chain.sample_chain import SampleChain


def test_every_type_of_ethereum_is_read_as_it_was_written() -> None:
    sample = SampleChain()
    kinds = set()
    for transaction in sample.sent.values():
        if isinstance(transaction.payload, EthereumTransaction):
            payload = read_payload(transaction_fields(transaction))
            assert load(payload.encode(), transaction.sender) == transaction
            kinds.add(payload.type)
    sample.chain.close()
    assert kinds == {0, 1, 2, 4}


@pytest.mark.parametrize("code", ["00", "5b", "605b5b", "7f" + "5b" * 31, "ef0100" + "ab" * 20])
def test_code_is_read_as_it_was_written(code: str) -> None:
    assert read_bytecode(bytecode_fields(bytes.fromhex(code))).hex() == code


def test_jump_destinations_are_marked_but_not_within_push_data() -> None:
    fields = bytecode_fields(bytes.fromhex("605b5b005b"))["LegacyAnalyzed"]
    assert fields["original_len"] == 5
    assert fields["jump_table"]["bits"] == 5 + 33
    assert fields["jump_table"]["data"] == [0b00010100, 0, 0, 0, 0]


def test_other_forms_are_rejected() -> None:
    with pytest.raises(MalformedValue):
        read_bytecode({"Eof": {}})
