"""Unusual requests of real clients that a node must accept, each as it was captured from the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clients.accounts import ALICE, CONTRACTS, NOBODY
from tests.support.inprocess_node import InprocessNode
from tests.support.rpc_client import HttpRpcClient

pytestmark = pytest.mark.clients

SENDER = ALICE.address
MIB = 1 << 20


@pytest.fixture(scope="module")
def client(node: InprocessNode) -> Iterator[HttpRpcClient]:
    client = HttpRpcClient(node.url)
    yield client
    client.close()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getBalance", [SENDER, None]),
        ("eth_call", [{"to": NOBODY}, None, None]),
        ("eth_estimateGas", [{"from": SENDER, "to": NOBODY}, None]),
        ("eth_feeHistory", ["0x1", "latest", None]),
    ],
)
def test_nulls_at_the_end_are_as_if_left_out(
    client: HttpRpcClient, method: str, params: list[Any]
) -> None:
    given = [param for param in params if param is not None]
    assert client(method, *params) == client(method, *given)


@pytest.mark.parametrize("value", ["0x00", "0x0320", "0x0"])
def test_a_quantity_may_have_zeros_in_front(client: HttpRpcClient, value: str) -> None:
    assert client("eth_call", {"from": SENDER, "to": NOBODY, "value": value}) == "0x"


def test_meta_has_arrays_of_integers(client: HttpRpcClient) -> None:
    # The zero address means none; another one is rejected, since there are no paymasters here.
    paymaster = {"paymaster": "0x" + "00" * 20, "paymasterInput": [140, 90, 52, 69]}
    meta = {"gasPerPubdata": "0xc350", "factoryDeps": [[0] * 32], "paymasterParams": paymaster}
    call = {"from": SENDER, "to": NOBODY, "type": "0x71", "eip712Meta": meta}
    assert int(client("eth_estimateGas", call), 16) >= 21_000


def test_what_is_not_known_or_null_is_ignored(client: HttpRpcClient) -> None:
    call = {
        "from": SENDER,
        "to": NOBODY,
        "chain_id": None,
        "nonce": None,
        "transactionType": "0x71",
        "gasPrice": "0x5f5e100",
        "maxPriorityFeePerGas": "0x0",
    }
    assert int(client("eth_estimateGas", call), 16) >= 21_000


def test_a_request_may_be_long(client: HttpRpcClient) -> None:
    meta = {"gasPerPubdata": "0xc350", "customSignature": [255] * MIB}
    call = {"from": SENDER, "to": NOBODY, "type": "0x71", "eip712Meta": meta}
    assert client("eth_call", call) == "0x"


def test_a_block_has_every_field_that_a_client_insists_on(client: HttpRpcClient) -> None:
    block = client("eth_getBlockByNumber", "latest", False)
    needed = {
        "parentHash", "number", "timestamp", "gasLimit", "gasUsed", "difficulty", "extraData", "hash",
        "sha3Uncles", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "miner", "uncles",
        "size", "mixHash", "transactions", "baseFeePerGas", "nonce",
    }  # fmt: skip
    assert {name for name in needed if block.get(name) is None} == set()
    assert len(block["extraData"]) <= 66


def test_a_rejection_is_never_one_that_is_tried_again(client: HttpRpcClient) -> None:
    """Because viem tries again on -32603, -32005 and -1, and at any status but 200."""
    wrong = [
        ("eth_sendRawTransaction", ["0x02"]),
        ("eth_call", [{"to": "0x12"}]),
        ("eth_call", [{"data": CONTRACTS["math"]["bytecode"][:40]}, "0xffffff"]),
        ("eth_getBlockByNumber", ["sometime", False]),
        ("eth_getFilterChanges", ["0x1"]),
    ]
    for method, params in wrong:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert client.post(request)["error"]["code"] not in {-32603, -32005, -1, 429}
