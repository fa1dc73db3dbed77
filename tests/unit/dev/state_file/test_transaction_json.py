"""Transactions of state files, there and back."""

from __future__ import annotations

from entresol.dev.state_file.transaction_json import read_payload, transaction_fields
from entresol.primitives.transactions import impersonate, load
from entresol.primitives.transactions.ethereum import EthereumTransaction
from tests.support.chain.dev_chain import ALICE
from tests.support.chain.sample_chain import SampleChain, payloads


def test_every_type_of_ethereum_is_read_as_it_was_written() -> None:
    sample = SampleChain()
    kinds = set()
    for transaction in sample.sent.values():
        if isinstance(transaction.payload, EthereumTransaction):
            payload = read_payload(dict(transaction_fields(transaction)))
            assert load(payload.encode(), transaction.sender) == transaction
            kinds.add(payload.type)
    sample.chain.close()
    assert kinds == {0, 1, 2, 4}


def test_an_impersonated_transaction_is_read_as_it_was_written() -> None:
    transaction = impersonate(payloads()["fee_market"], ALICE)
    payload = read_payload(dict(transaction_fields(transaction)))
    assert load(payload.encode(), ALICE) == transaction
