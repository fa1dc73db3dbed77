"""What happened in a transaction, as Otterscan shows it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chain.dev_chain import ALICE, BOB, LOGGER
from tests.support.chain.traced_chain import (
    FACTORY,
    INNER,
    OUTER,
    TracedChain,
    created_by,
    traced_chain,
)
from tests.support.hex_data import hexed, word
from tests.support.rpc_client import RpcError


@pytest.fixture(scope="module")
def chain() -> Iterator[TracedChain]:
    with traced_chain() as chain:
        yield chain


def test_operations_leave_out_the_transaction_itself(chain: TracedChain) -> None:
    assert chain.client("ots_getInternalOperations", chain.nested) == [
        {"type": 0, "from": str(OUTER), "to": str(BOB), "value": "0x1"}
    ]
    assert chain.client("ots_getInternalOperations", chain.transfer) == []
    (creation,) = chain.client("ots_getInternalOperations", chain.creating)
    assert (creation["type"], creation["from"]) == (2, str(FACTORY))


def test_frames_come_in_order_with_their_depth(chain: TracedChain) -> None:
    frames = chain.client("ots_traceTransaction", chain.nested)
    assert [(frame["type"], frame["depth"], frame["to"]) for frame in frames] == [
        ("CALL", 0, str(OUTER)),
        ("CALL", 1, str(INNER)),
        ("CALL", 1, str(BOB)),
    ]
    created = chain.client("ots_traceTransaction", chain.creating)
    assert [it["type"] for it in created] == ["CALL", "CREATE"]


def test_the_error_is_what_was_reverted_with(chain: TracedChain) -> None:
    assert chain.client("ots_getTransactionError", chain.failed) == hexed(word(0x2A))
    assert chain.client("ots_getTransactionError", chain.transfer) == "0x"
    with pytest.raises(RpcError, match="transaction not found"):
        chain.client("ots_getTransactionError", "0x" + "ab" * 32)


def test_a_transaction_is_found_by_its_nonce(chain: TracedChain) -> None:
    found = chain.client("ots_getTransactionBySenderAndNonce", str(ALICE), 2)
    assert found == chain.creating
    assert chain.client("ots_getTransactionBySenderAndNonce", str(ALICE), 99) is None


def test_a_contract_has_a_creator(chain: TracedChain) -> None:
    created = created_by(FACTORY, 0)
    assert chain.client("ots_hasCode", str(created), "latest") is True
    assert chain.client("ots_getContractCreator", str(created)) == {
        "hash": chain.creating, "creator": str(FACTORY),
    }  # fmt: skip


@pytest.mark.parametrize("address", [LOGGER, INNER, ALICE])
def test_what_no_transaction_created_has_no_creator(chain: TracedChain, address: bytes) -> None:
    assert chain.client("ots_getContractCreator", hexed(address)) is None
