"""Submitting and looking up transactions over JSON-RPC."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing

import pytest

from entresol.chain.chain import Chain
from entresol.rpc.namespaces.eth.transactions import ResponseHold
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE, NOBODY, open_chain, transaction
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError


def test_a_transaction_is_found_by_hash_location_and_nonce(client: ApiClient) -> None:
    sent = send(client)
    whole = client("eth_getTransactionByHash", sent)
    block = client("eth_getBlockByNumber", "0x1", False)["hash"]
    assert client("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x0") == whole
    assert client("eth_getTransactionByBlockHashAndIndex", block, "0x0") == whole
    assert client("eth_getTransactionBySenderAndNonce", hexed(ALICE), "0x0") == whole
    assert client("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x1") is None
    assert client("eth_getRawTransactionByHash", sent) == hexed(transaction(0).raw)


def test_a_block_number_is_that_after_the_sends_of_its_batch(client: ApiClient) -> None:
    """A client sends both together, and waits for the blocks after that number."""
    raw = hexed(transaction(0).raw)
    first, sent, last = client.batch(
        [("eth_blockNumber", []), ("eth_sendRawTransaction", [raw]), ("eth_blockNumber", [])]
    )
    assert client("eth_getTransactionReceipt", sent)["blockNumber"] == first == last == "0x1"


def test_a_block_number_is_that_after_transactions_of_the_nodes_accounts(client: ApiClient) -> None:
    transfer = {"from": hexed(ALICE), "to": hexed(NOBODY), "value": "0x1"}
    number, sent = client.batch([("eth_blockNumber", []), ("eth_sendTransaction", [transfer])])
    assert client("eth_getTransactionReceipt", sent)["blockNumber"] == number == "0x1"


def test_a_block_number_has_a_response_if_a_send_of_its_batch_has_failed(client: ApiClient) -> None:
    number, failed = client.batch([("eth_blockNumber", []), ("eth_sendRawTransaction", ["0x00"])])
    assert number == "0x0"
    assert isinstance(failed, RpcError)


def test_a_block_number_stands_where_it_was_requested(client: ApiClient) -> None:
    names = ("eth_blockNumber", "eth_chainId", "eth_blockNumber", "eth_accounts")
    requests = [{"jsonrpc": "2.0", "id": index, "method": name} for index, name in enumerate(names)]
    assert [response["id"] for response in client.post(requests)] == [0, 1, 2, 3]


RAW = hexed(transaction(0).raw)
HASH = str(transaction(0).hash)


def test_a_chain_that_seals_at_once_responds_at_once(client: ApiClient) -> None:
    receipt = client("eth_sendRawTransactionSync", RAW)
    assert receipt == client("eth_getTransactionReceipt", HASH)


@pytest.mark.parametrize("longest", ["0x7530", 30_000, None, 0])
async def test_the_receipt_comes_with_the_block(client: ApiClient, longest: object) -> None:
    client.chain.schedule.seal_on_request()
    params = [RAW, longest]
    body = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransactionSync", "params": params}
    heard = asyncio.Event()
    client.chain.events.subscribe(wake=heard.set)
    waiting = asyncio.ensure_future(client.handle(json.dumps(body).encode()))
    await heard.wait()
    # An event that is not about a block must not end the wait.
    client.chain.add(transaction(0, by=1))
    await asyncio.sleep(0)
    assert not waiting.done()
    client.chain.builder.seal()
    answer = json.loads(await waiting)
    assert answer["result"]["transactionHash"] == HASH


def test_a_timeout_returns_the_hash(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    rejection = client.error("eth_sendRawTransactionSync", RAW, 1)
    assert (rejection.code, rejection.data) == (4, HASH)
    assert rejection.message.endswith("no block included it in 0.001 s")
    assert client("eth_getTransactionByHash", HASH)["hash"] == HASH


def test_the_event_subscription_ends_with_the_request(client: ApiClient) -> None:
    listeners = dict(client.chain.events._listeners)
    client("eth_sendRawTransactionSync", RAW)
    assert client.chain.events._listeners == listeners


def test_a_transaction_of_an_account_of_the_node_returns_its_receipt(client: ApiClient) -> None:
    receipt = client("eth_sendTransactionSync", {"from": str(ALICE), "to": str(NOBODY)})
    assert receipt["status"] == "0x1"
    assert receipt == client("eth_getTransactionReceipt", receipt["transactionHash"])


def test_a_timeout_of_such_a_transaction_returns_its_hash(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    rejection = client.error("eth_sendTransactionSync", {"from": str(ALICE), "to": str(NOBODY)}, 1)
    assert rejection.code == 4
    (pending,) = client("eth_pendingTransactions")
    assert pending["hash"] == rejection.data


SECONDS = 0.05


async def taken(chain: Chain, seconds: float, *, fails: bool = False) -> float:
    """Return how long a response takes that is there at once."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[str] = loop.create_future()
    if fails:
        future.set_exception(ValueError("no"))
    else:
        future.set_result("sent")
    start = loop.time()
    held = ResponseHold(chain, seconds).hold(future)
    if fails:
        with pytest.raises(ValueError, match="no"):
            await held
    else:
        assert await held == "sent"
    return loop.time() - start


def test_a_response_comes_after_the_time_that_it_is_held(chain: Chain) -> None:
    assert asyncio.run(taken(chain, SECONDS)) >= SECONDS * 0.99


def test_an_error_is_not_held(chain: Chain) -> None:
    assert asyncio.run(taken(chain, 60.0, fails=True)) < 60.0


def test_nothing_is_held_unless_blocks_are_sealed_at_once(chain: Chain) -> None:
    chain.schedule.seal_on_request()
    assert asyncio.run(taken(chain, 60.0)) < 60.0


def test_without_a_time_the_response_is_the_same() -> None:
    with closing(open_chain()) as chain:
        response = asyncio.sleep(0, "sent")
        held = ResponseHold(chain, 0.0).hold(response)
        assert held is response
        assert asyncio.run(response) == "sent"
