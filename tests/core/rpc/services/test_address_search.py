"""The search for the transactions of an address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.errors import DeadlinePassed, NotInspectable
from entresol.execution.tracing import TraceLimits
from entresol.primitives.values import Address
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
            client.chain.builder.seal()
        yield client


def search_of(client: ApiClient, max_blocks: int) -> AddressSearch:
    ledger = client.chain.ledger
    traces = TraceRunner(ledger, BlockResolver(client.chain))
    return AddressSearch(ledger.store, traces, max_blocks)


def test_a_search_that_found_too_little_says_where_it_stopped(client: ApiClient) -> None:
    with pytest.raises(NotInspectable, match="stopped after 5 blocks"):
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


READER = Address(b"\xb1" * 20)
SILENT = Address(b"\xb2" * 20)


def test_a_call_that_changes_and_logs_nothing_is_found(client: ApiClient) -> None:
    # It calls another one statically, which has no code, either.
    client("anvil_setCode", str(READER), f"0x5f5f5f5f73{SILENT.hex()}5afa")
    number = client.chain.number
    send(client, 1, to=READER, wei=0)
    head = client.chain.number
    page = search_of(client, 100).page(SILENT, range(head, 0, -1), 25)
    assert [block.number for block in page.blocks] == [number + 1]


def test_a_search_executes_a_bounded_amount_of_gas(client: ApiClient) -> None:
    client("anvil_setCode", str(READER), "0x5b5f56")
    for nonce in (1, 2, 3):
        send(client, nonce, to=READER, wei=0)
    ledger, head = client.chain.ledger, client.chain.number
    traces = TraceRunner(ledger, BlockResolver(client.chain))
    with pytest.raises(NotInspectable, match="stopped after 1 blocks"):
        AddressSearch(ledger.store, traces, max_gas=30_000).page(SILENT, range(head, 0, -1), 1)


def test_a_transaction_that_takes_too_long_is_not_passed_over(client: ApiClient) -> None:
    client("anvil_setCode", str(READER), "0x5b5f56")
    send(client, 1, to=READER, wei=0)
    ledger, head = client.chain.ledger, client.chain.number
    limits = TraceLimits(seconds=0.0)
    traces = TraceRunner(ledger, BlockResolver(client.chain), limits)
    with pytest.raises(DeadlinePassed):
        AddressSearch(ledger.store, traces).page(SILENT, range(head, head - 1, -1), 1)
