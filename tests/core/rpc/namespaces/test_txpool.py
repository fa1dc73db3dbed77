"""The pool as clients see it."""

from __future__ import annotations

import pytest
from msgspec import Raw

from entresol.node.config.api import LimitsConfig
from entresol.offload import POLICY
from entresol.primitives.transactions import Transaction
from entresol.rpc.services.rendered_chain import RenderedChain
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, BOB, FEE, NOBODY, deposit, transaction
from tests.support.rpc_client import RpcError


@pytest.fixture
def crowded(client: ApiClient) -> ApiClient:
    client.chain.schedule.seal_on_request()
    for nonce, by in [(0, 0), (1, 0), (5, 0), (0, 1)]:
        client.chain.add(transaction(nonce, by=by))
    return client


def test_an_empty_pool_is_empty_everywhere(client: ApiClient) -> None:
    assert client("txpool_status") == {"pending": "0x0", "queued": "0x0"}
    for method in ("txpool_content", "txpool_inspect"):
        assert client(method) == {"pending": {}, "queued": {}}
    assert client("txpool_contentFrom", str(ALICE)) == {"pending": {}, "queued": {}}


def test_pending_and_queued_are_counted(crowded: ApiClient) -> None:
    assert crowded("txpool_status") == {"pending": "0x3", "queued": "0x1"}


def test_transactions_are_found_by_sender_and_nonce(crowded: ApiClient) -> None:
    content = crowded("txpool_content")
    alice, bob = ALICE.checksummed(), BOB.checksummed()
    assert {sender: list(them) for sender, them in content["pending"].items()} == {
        alice: ["0", "1"],
        bob: ["0"],
    }
    assert list(content["queued"]) == [alice]
    waiting = content["queued"][alice]["5"]
    assert waiting == crowded("eth_getTransactionByHash", waiting["hash"])
    assert waiting["blockNumber"] is None


def test_a_summary_has_a_line_for_each(crowded: ApiClient) -> None:
    lines = crowded("txpool_inspect")["pending"][BOB.checksummed()]
    expected = f"{NOBODY.checksummed()}: 1 wei + 100000 gas \N{MULTIPLICATION SIGN} {FEE} wei"
    assert lines == {"0": expected}


def test_a_creation_is_named_so(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    client("eth_sendTransaction", {"from": str(ALICE), "data": "0x00", "gas": hex(60_000)})
    (lines,) = client("txpool_inspect")["pending"].values()
    assert lines["0"].startswith("contract creation: 0 wei + 60000 gas ")


def test_a_pending_priority_transaction_is_found(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    sent = client.chain.enqueue(deposit(7))
    waiting = client("eth_getTransactionByHash", str(sent))
    assert (waiting["type"], waiting["blockNumber"]) == ("0xff", None)
    assert client("eth_getRawTransactionByHash", str(sent)) is not None
    client.chain.builder.seal()
    assert client("eth_getTransactionByHash", str(sent))["blockNumber"] == "0x1"


def test_a_long_listing_is_rendered_on_a_worker_and_says_the_same(crowded: ApiClient) -> None:
    short = crowded("txpool_content"), crowded("txpool_inspect")
    for nonce in range(2, 5):
        crowded.chain.add(transaction(nonce))
    for nonce in range(6, 2 + POLICY.rendered_items):
        crowded.chain.add(transaction(nonce))
    long = crowded("txpool_content"), crowded("txpool_inspect")
    alice, bob = ALICE.checksummed(), BOB.checksummed()
    for before, after in zip(short, long, strict=True):
        assert after["pending"][bob] == before["pending"][bob]
        assert list(after["pending"][alice]) == [str(n) for n in range(2 + POLICY.rendered_items)]
        assert after["queued"] == {}
    assert crowded("txpool_contentFrom", str(ALICE))["pending"] == long[0]["pending"][alice]


def test_a_listing_that_exceeds_a_response_is_not_rendered_to_its_end(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = []
    render = RenderedChain.pending_transaction

    def count(self: RenderedChain, transaction: Transaction) -> Raw:
        rendered.append(transaction)
        return render(self, transaction)

    monkeypatch.setattr(RenderedChain, "pending_transaction", count)
    client.chain.schedule.seal_on_request()
    for nonce in range(100):
        client.chain.add(transaction(nonce))
    short = ApiClient(client.chain, limits=LimitsConfig(answer_limit_bytes=3_000))
    for method, params in (("txpool_content", ()), ("txpool_contentFrom", (str(ALICE),))):
        rendered.clear()
        with pytest.raises(RpcError, match="Response is too big"):
            short(method, *params)
        assert 1 < len(rendered) < 10
    short.api.close()
