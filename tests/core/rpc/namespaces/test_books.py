"""`entresol_getBatchBooks`: what is said of a batch at each stage."""

from __future__ import annotations

import msgspec
import pytest

from entresol.primitives.batches import Batch, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rpc.namespaces.books import EntresolBooks
from entresol.storage.store import Store
from tests.support.rpc_client import NamespaceClient

WORD = bytes(32)
BATCH = Batch(1, 1, 1, 1, 2, 3, 1, 0, WORD, (), 2, WORD, WORD)
NOTHING = {"transactionHash": None, "blockNumber": None, "timestamp": None, "problem": None}


@pytest.fixture
def client(store: Store) -> NamespaceClient:
    store.batches.append(BATCH, b"", [0])
    return NamespaceClient(EntresolBooks(store.batches))


def test_a_batch_that_does_not_exist_has_no_books(client: NamespaceClient) -> None:
    assert client("entresol_getBatchBooks", 2) is None


def test_a_batch_with_messages_is_to_be_booked(client: NamespaceClient) -> None:
    assert client("entresol_getBatchBooks", "0x1") == {"status": "pending", **NOTHING}


def test_a_batch_with_results_of_deposits_alone_is_not(store: Store) -> None:
    store.batches.append(msgspec.structs.replace(BATCH, logs=1), b"", [0])
    client = NamespaceClient(EntresolBooks(store.batches))
    assert client("entresol_getBatchBooks", 1) == {"status": "none", **NOTHING}


def test_a_batch_that_is_booked_says_where(store: Store, client: NamespaceClient) -> None:
    store.batches.books.book(1, SettlementTransaction(Hash32(b"\5" * 32), 7, 1_234))
    assert client("entresol_getBatchBooks", 1) == {
        "status": "settled",
        "transactionHash": "0x" + "05" * 32,
        "blockNumber": "0x7",
        "timestamp": "0x4d2",
        "problem": None,
    }


@pytest.mark.parametrize("is_partial", [False, True])
def test_a_batch_that_is_rejected_wholly_or_in_part_says_why(
    store: Store, client: NamespaceClient, is_partial: bool
) -> None:
    store.batches.books.unbook(1, "InvalidDestination(9)", is_partial=is_partial)
    status = "partial" if is_partial else "rejected"
    expected = {"status": status, **NOTHING, "problem": "InvalidDestination(9)"}
    assert client("entresol_getBatchBooks", 1) == expected
