"""The transactions of an address, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chain.dev_chain import ALICE, BOB, NOBODY
from tests.support.chain.traced_chain import INNER, OUTER, TracedChain, traced_chain


@pytest.fixture(scope="module")
def chain() -> Iterator[TracedChain]:
    with traced_chain() as chain:
        yield chain


def hashes(page: dict[str, Any]) -> list[str]:
    assert [it["transactionHash"] for it in page["receipts"]] == [it["hash"] for it in page["txs"]]
    assert all(isinstance(it["timestamp"], int) for it in page["receipts"])
    return [it["hash"] for it in page["txs"]]


def test_pages_go_back_from_the_newest(chain: TracedChain) -> None:
    first = chain.client("ots_searchTransactionsBefore", str(ALICE), 0, 2)
    assert hashes(first) == [chain.transfer, chain.creating]
    assert (first["firstPage"], first["lastPage"]) == (True, False)
    oldest = int(first["txs"][-1]["blockNumber"], 16)
    last = chain.client("ots_searchTransactionsBefore", str(ALICE), oldest, 2)
    assert hashes(last) == [chain.failed, chain.nested]
    assert (last["firstPage"], last["lastPage"]) == (False, True)


def test_pages_go_on_from_the_oldest(chain: TracedChain) -> None:
    last = chain.client("ots_searchTransactionsAfter", str(ALICE), 0, 3)
    assert hashes(last) == [chain.creating, chain.failed, chain.nested]
    assert (last["firstPage"], last["lastPage"]) == (False, True)
    newest = int(last["txs"][0]["blockNumber"], 16)
    first = chain.client("ots_searchTransactionsAfter", str(ALICE), newest, 3)
    assert hashes(first) == [chain.transfer]
    assert (first["firstPage"], first["lastPage"]) == (True, False)


@pytest.mark.parametrize("address", [OUTER, INNER, BOB])
def test_calls_between_contracts_are_found(chain: TracedChain, address: bytes) -> None:
    page = chain.client("ots_searchTransactionsBefore", "0x" + address.hex(), 0, 25)
    assert hashes(page) == [chain.nested]
    assert (page["firstPage"], page["lastPage"]) == (True, True)


def test_who_took_no_part_has_an_empty_page(chain: TracedChain) -> None:
    page = chain.client("ots_searchTransactionsAfter", "0x" + "99" * 20, 0, 25)
    assert page == {"txs": [], "receipts": [], "firstPage": True, "lastPage": True}
    assert len(chain.client("ots_searchTransactionsBefore", str(NOBODY), 0, 25)["txs"]) == 1
