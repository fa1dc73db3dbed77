"""`entresol_` methods about transactions: of an account, of the chain, and by the beginning of a hash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.errors import DeadlinePassed
from entresol.execution.block_executor import HISTORY_STORAGE
from entresol.execution.tracing import TraceLimits
from entresol.features.explorer.account_index import AccountIndex, IndexedAccounts
from entresol.features.explorer.transaction_search import Before, TransactionSearch
from entresol.primitives.values import Address
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.services.trace_runner import TraceRunner
from tests.support.chain.api_client import INNER, OUTER, ApiClient, TracedChain, running_api, send
from tests.support.chain.dev_chain import ALICE, BOB, NOBODY
from tests.support.evm.programs import HISTORY_CODE
from tests.support.rpc_client import RpcError


@pytest.fixture(scope="module")
def chain() -> Iterator[TracedChain]:
    with running_api() as client:
        client.chain.ledger.store.keep_indexes([AccountIndex()])
        yield TracedChain(client)


def parts(page: dict[str, Any]) -> list[tuple[str, str]]:
    return [(transaction["hash"], transaction["part"]) for transaction in page["transactions"]]


def test_an_account_has_what_it_sent_the_newest_first(chain: TracedChain) -> None:
    found = chain.client("entresol_getAccountTransactions", str(ALICE))
    sent = (chain.transfer, chain.creating, chain.failed, chain.nested)
    assert parts(found) == [(sent_hash, "sender") for sent_hash in sent]
    assert [transaction["succeeded"] for transaction in found["transactions"]] == [
        True,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("address", "part"), [(OUTER, "target"), (INNER, "called"), (BOB, "called")]
)
def test_calls_within_transactions_are_found(chain: TracedChain, address: bytes, part: str) -> None:
    page = chain.client("entresol_getAccountTransactions", "0x" + address.hex())
    assert parts(page) == [(chain.nested, part)]


def test_who_took_no_part_has_an_empty_page(chain: TracedChain) -> None:
    page = chain.client("entresol_getAccountTransactions", "0x" + "99" * 20)
    assert page == {"transactions": [], "next": None}


def test_what_a_block_writes_itself_is_not_called_by_its_transaction() -> None:
    contracts = {HISTORY_STORAGE: GenesisAccount(code=HISTORY_CODE, nonce=1)}
    genesis = Genesis.development(31337, [ALICE], 10**18, contracts)
    with ExitStack() as cleanup:
        chain = Chain.open(None, ChainRules.layer_1(), genesis, clock=Clock(lambda: 1_000.0))
        cleanup.callback(chain.close)
        client = ApiClient(chain)
        cleanup.callback(client.api.close)
        chain.ledger.store.keep_indexes([AccountIndex()])
        client("anvil_impersonateAccount", str(ALICE))
        reads = {"from": str(ALICE), "to": str(HISTORY_STORAGE), "data": "0x" + bytes(32).hex()}
        creates = {"from": str(ALICE), "data": "0x00"}
        read, _ = (client("eth_sendTransaction", wanted) for wanted in (reads, creates))
        page = client("entresol_getAccountTransactions", str(HISTORY_STORAGE))
        assert parts(page) == [(read, "target")]


def test_all_transactions_of_the_chain_are_listed(chain: TracedChain) -> None:
    page = chain.client("entresol_getTransactions", None, 3)
    hashes = [transaction["hash"] for transaction in page["transactions"]]
    assert hashes == [chain.transfer, chain.creating, chain.failed]
    rest = chain.client("entresol_getTransactions", page["next"], 3)
    assert [transaction["hash"] for transaction in rest["transactions"]] == [chain.nested]
    assert rest["next"] is None
    assert page["transactions"][0] | {"timestamp": None} == {
        "hash": chain.transfer,
        "blockNumber": "0x4",
        "transactionIndex": "0x0",
        "timestamp": None,
        "from": str(ALICE),
        "to": str(NOBODY),
        "value": "0x7",
        "selector": "0x",
        "succeeded": True,
        "part": "sender",
    }


def test_calls_in_a_block_of_several_are_found_by_executing_it_again() -> None:
    with running_api() as client:
        client.chain.ledger.store.keep_indexes([AccountIndex()])
        chain = TracedChain(client)
        client("evm_setAutomine", False)
        first = send(client, 4, to=OUTER, wei=0)
        second = send(client, 5, wei=1)
        client("evm_mine")
        page = client("entresol_getAccountTransactions", str(INNER))
        assert parts(page) == [(first, "called"), (chain.nested, "called")]
        sent = client("entresol_getAccountTransactions", str(ALICE), None, 2)
        assert parts(sent) == [(second, "sender"), (first, "sender")]


def test_hashes_are_found_by_their_beginning(chain: TracedChain) -> None:
    for digits in (4, 5, 9, 64):
        prefix = chain.nested[: 2 + digits]
        assert chain.nested in chain.client("entresol_findHashes", prefix)["transactions"]
    block = chain.client("eth_getBlockByNumber", "0x2", False)["hash"]
    assert chain.client("entresol_findHashes", block[:13].upper().replace("0X", "0x")) == {
        "transactions": [],
        "blocks": [block],
    }


def test_hashes_of_reverted_blocks_are_not_found(chain: TracedChain) -> None:
    client = chain.client
    snapshot = client("evm_snapshot")
    gone = send(client, 4, wei=3)
    block = client("eth_getBlockByNumber", "latest", False)["hash"]
    client("evm_revert", snapshot)
    nothing: dict[str, list[str]] = {"transactions": [], "blocks": []}
    assert client("entresol_findHashes", gone[:20]) == nothing
    assert client("entresol_findHashes", block[:20]) == nothing


@pytest.mark.parametrize("prefix", ["0x123", "", "0x", "0xgggggg", "0x" + "1" * 65, "1_23456"])
def test_a_beginning_has_some_digits(chain: TracedChain, prefix: str) -> None:
    with pytest.raises(RpcError, match="4 to 64 hex digits") as caught:
        chain.client("entresol_findHashes", prefix)
    assert caught.value.code == -32602


def test_without_the_index_transactions_of_accounts_are_not_listed() -> None:
    with running_api() as client:
        with pytest.raises(RpcError, match="--no-explorer"):
            client("entresol_getAccountTransactions", str(ALICE))
        sent = send(client)
        (found,) = client("entresol_getTransactions")["transactions"]
        assert found["hash"] == sent


def test_a_block_that_takes_too_long_to_execute_again_is_not_passed_over(
    chain: TracedChain,
) -> None:
    ledger = chain.client.chain.ledger
    traces = TraceRunner(ledger, BlockResolver(chain.client.chain), TraceLimits(seconds=0.0))
    search = TransactionSearch(ledger.store, IndexedAccounts(ledger.store), traces)
    with pytest.raises(DeadlinePassed):
        search.of_account(Address(INNER), Before.below(ledger.number + 1), 10)


def test_a_page_ends_with_its_time_and_the_next_goes_on(chain: TracedChain) -> None:
    ledger = chain.client.chain.ledger
    traces = TraceRunner(ledger, BlockResolver(chain.client.chain), TraceLimits())
    index = IndexedAccounts(ledger.store)
    search = TransactionSearch(ledger.store, index, traces, max_seconds=-1.0)
    before: Before | None = Before.below(ledger.number + 1)
    found = []
    while before is not None:
        page = search.all(before, 10)
        assert len(page.transactions) <= 1
        found += [
            str(transaction.record.transaction_hash(transaction.position))
            for transaction in page.transactions
        ]
        before = page.following
    assert found == [chain.transfer, chain.creating, chain.failed, chain.nested]
