"""The search for the transactions of an address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.errors import SearchTooLong
from entresol.rpc.services.address_search import AddressSearch
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.services.trace_runner import TraceRunner
from tests.support.chain.api_client import ApiClient, running_api, send
from tests.support.chain.dev_chain import ALICE, BOB


@pytest.fixture
def client() -> Iterator[ApiClient]:
    with running_api() as client:
        send(client)
        for _ in range(10):
            client.chain.seal()
        yield client


def search_of(client: ApiClient, max_blocks: int) -> AddressSearch:
    ledger = client.chain.ledger
    traces = TraceRunner(ledger, BlockResolver(client.chain))
    return AddressSearch(ledger.store, traces, max_blocks)


def test_a_search_that_found_too_little_says_where_it_stopped(client: ApiClient) -> None:
    with pytest.raises(SearchTooLong, match="stopped after 5 blocks"):
        search_of(client, 5).page(BOB, range(11, 0, -1), 1)


def test_a_full_page_does_not_read_all_blocks_to_see_whether_there_are_more(
    client: ApiClient,
) -> None:
    page = search_of(client, 5).page(ALICE, range(1, 12), 1)
    assert [block.number for block in page.blocks] == [1]
    assert page.has_more


def test_the_end_of_the_chain_is_noticed(client: ApiClient) -> None:
    page = search_of(client, 100).page(ALICE, range(1, 12), 1)
    assert not page.has_more
