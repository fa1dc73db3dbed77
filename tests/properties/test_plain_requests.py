"""The crate responds to plain requests as the Python dispatcher does, with results and with errors."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import Overlay
from entresol.primitives.values import Address
from entresol.server.handler import LocalConnection
from tests.support.chain.api_client import ApiClient, running_api, send
from tests.support.chain.dev_chain import ALICE, LOGGER, NOBODY
from tests.support.evm.assembler import assemble
from tests.support.rpc_client import native_response
from tests.support.run.examples import examples

ECHO, REVERTER, LOOPER, STORER, LOG = (
    Address(bytes([number]) * 20) for number in range(0xC1, 0xC6)
)
CODES = {
    ECHO: assemble("calldatasize 0 0 calldatacopy calldatasize 0 return"),
    REVERTER: assemble("calldatasize 0 0 calldatacopy calldatasize 0 revert"),
    # Needs more gas than a call may use on the event loop.
    LOOPER: assemble("20000 again: 1 swap1 sub dup1 @again jumpi 32 0 return"),
    # Costs another amount of gas the second time.
    STORER: assemble("0 sload 1 add 0 sstore 0 sload 0 mstore 32 0 return"),
    # Calls console.log.
    LOG: assemble(
        "0 0 4 0 0x000000000000000000636f6e736f6c652e6c6f67 gas staticcall 0 mstore 32 0 return"
    ),
}
BLOCKS = 6


def _set_code(address: Address, code: bytes, state: Overlay) -> None:
    state.set_code(address, code)


@pytest.fixture(scope="module")
def client() -> Iterator[ApiClient]:
    with running_api() as client:
        for address, code in CODES.items():
            client.chain.edit(address, partial(_set_code, address, code))
        for nonce in range(BLOCKS):
            sent = send(client, nonce, to=LOGGER if nonce % 2 else NOBODY)
            _named[f"transaction {nonce}"] = sent
        for number in range(BLOCKS + 1):
            block = client("eth_getBlockByNumber", hex(number), False)
            _named[f"block {number}"] = block["hash"]
        _named["logs"] = client("eth_newFilter", {"fromBlock": "earliest"})
        _named["blocks"] = client("eth_newBlockFilter")
        yield client


_named: dict[str, str] = {}
"""Hashes and ids of the chain, by the names that requests have for them."""


def as_python(body: bytes) -> bytes:
    """Return the same request as only Python reads it: with an escape in the name of the method."""
    return body.replace(b'"method": "e', b'"method": "\\u0065')


def encoded(request: object) -> bytes:
    """Return a request as JSON, with what the names of blocks, transactions and filters stand for."""
    text = json.dumps(request)
    return re.sub(r'"([a-z]+(?: \d)?)"', lambda it: f'"{_named.get(it[1], it[1])}"', text).encode()


def responses(client: ApiClient, request: dict[str, object]) -> tuple[bytes, bytes]:
    body = encoded(request)
    assert as_python(body) != body
    return asyncio.run(client.handle(body)), asyncio.run(client.handle(as_python(body)))


ADDRESSES = st.sampled_from([*map(str, (ALICE, LOGGER, NOBODY, *CODES))])
ODD = st.sampled_from(
    [
        "",
        "0x",
        "0x0",
        "0X1",
        "latest",
        "0x0x1",
        "0xg",
        "0x" + "1" * 39,
        "0x" + "f" * 64,
        "é",
        " 0x1",
    ]
)
OTHER = st.one_of(ODD, st.none(), st.booleans(), st.integers(-1, 2**70), st.just(0.5), st.just([]))
NUMBERS = st.one_of(st.integers(0, 40).map(hex), st.integers(0, 2**65).map(hex), st.just("0x00"))
BLOCK = st.one_of(
    st.just("latest"), st.integers(0, BLOCKS + 2).map(hex), st.sampled_from(["pending", "earliest"])
)
ADDRESS = st.one_of(ADDRESSES, ADDRESSES.map(lambda it: "0x" + it[2:].upper()), OTHER)
DATA = st.one_of(st.binary(max_size=70).map(lambda it: "0x" + it.hex()), OTHER)
QUANTITY = st.one_of(NUMBERS, OTHER)
PLAIN_CALL = st.fixed_dictionaries(
    {"to": ADDRESSES},
    optional={
        "from": ADDRESSES,
        "data": st.binary(max_size=70).map(lambda it: "0x" + it.hex()),
        "value": st.integers(0, 3).map(hex),
        "gas": st.integers(20_000, 90_000).map(hex),
    },
)
ANY_CALL = st.fixed_dictionaries(
    {},
    optional={
        "from": ADDRESS,
        "to": ADDRESS,
        "data": DATA,
        "input": DATA,
        "value": QUANTITY,
        "gas": QUANTITY,
        "gasPrice": QUANTITY,
        "nonce": QUANTITY,
        "type": QUANTITY,
        "other": OTHER,
    },
)
CALL = st.one_of(PLAIN_CALL, ANY_CALL, OTHER)
BLOCK_CALLS = st.fixed_dictionaries({}, optional={"calls": st.lists(PLAIN_CALL, max_size=3)})
ANY_BLOCK_CALLS = st.fixed_dictionaries(
    {},
    optional={
        "calls": st.one_of(st.lists(CALL, max_size=2), OTHER),
        "stateOverrides": st.one_of(st.just({}), OTHER),
        "blockOverrides": st.one_of(st.just({}), st.just({"gasLimit": "0xffff"}), OTHER),
        "other": OTHER,
    },
)
SIMULATION = st.one_of(
    st.fixed_dictionaries(
        {"blockStateCalls": st.lists(BLOCK_CALLS, min_size=1, max_size=3)},
        optional=dict.fromkeys(
            ["validation", "traceTransfers", "returnFullTransactions"], st.booleans()
        ),
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "blockStateCalls": st.lists(st.one_of(BLOCK_CALLS, ANY_BLOCK_CALLS), max_size=2),
            "validation": st.one_of(st.booleans(), OTHER),
            "traceTransfers": st.one_of(st.booleans(), OTHER),
            "returnFullTransactions": st.one_of(st.booleans(), OTHER),
            "other": OTHER,
        },
    ),
    OTHER,
)
HASH = st.one_of(
    st.sampled_from([f"block {number}" for number in range(BLOCKS + 1)]),
    st.sampled_from([f"transaction {number}" for number in range(BLOCKS)]),
    st.binary(min_size=32, max_size=32).map(lambda it: "0x" + it.hex()),
    OTHER,
)
INDEX = st.one_of(st.just("0x0"), QUANTITY)
FULL = st.one_of(st.booleans(), OTHER)
PERCENTILES = st.one_of(
    st.lists(st.floats(0, 100), max_size=5).map(sorted),
    st.lists(st.one_of(st.integers(-1, 101), st.floats(-1, 101)), max_size=5),
    st.just([50] * 101),
    OTHER,
)


def with_block(*params: st.SearchStrategy[object]) -> st.SearchStrategy[list[object]]:
    """Return parameters, with a block behind them, without one, or with something else."""
    given_block = st.tuples(*params, st.one_of(BLOCK, OTHER))
    return st.one_of(given_block, given_block, st.tuples(*params), st.tuples(*params[:-1])).map(
        list
    )


BY_NUMBER = [
    "eth_getHeaderByNumber",
    "eth_getBlockTransactionCountByNumber",
    "eth_getBlockReceipts",
    "eth_getUncleCountByBlockNumber",
]
BY_HASH = [
    "eth_getHeaderByHash",
    "eth_getBlockTransactionCountByHash",
    "eth_getBlockReceipts",
    "eth_getUncleCountByBlockHash",
    "eth_getTransactionByHash",
    "eth_getTransactionReceipt",
    "eth_getRawTransactionByHash",
]
BY_BLOCK_AND_INDEX = [
    f"eth_get{kind}ByBlock{by}AndIndex"
    for kind in ("Transaction", "RawTransaction", "Uncle")
    for by in ("Hash", "Number")
]
REQUESTS = st.one_of(
    st.tuples(st.just("eth_getBalance"), with_block(ADDRESS)),
    st.tuples(st.just("eth_getTransactionCount"), with_block(ADDRESS)),
    st.tuples(st.just("eth_getCode"), with_block(ADDRESS)),
    st.tuples(st.just("eth_getAccount"), with_block(ADDRESS)),
    st.tuples(st.just("eth_getAccountInfo"), with_block(ADDRESS)),
    st.tuples(st.just("eth_createAccessList"), with_block(CALL)),
    st.tuples(st.sampled_from(BY_NUMBER), st.tuples(st.one_of(BLOCK, OTHER)).map(list)),
    st.tuples(st.sampled_from(BY_HASH), st.tuples(HASH).map(list)),
    st.tuples(
        st.sampled_from(["eth_getBlockByHash", "eth_getBlockByNumber"]),
        st.tuples(st.one_of(HASH, BLOCK), FULL).map(list),
    ),
    st.tuples(
        st.sampled_from(BY_BLOCK_AND_INDEX), st.tuples(st.one_of(HASH, BLOCK), INDEX).map(list)
    ),
    st.tuples(
        st.just("eth_getTransactionBySenderAndNonce"), st.tuples(ADDRESS, QUANTITY).map(list)
    ),
    st.tuples(
        st.sampled_from(["eth_getFilterChanges", "eth_getFilterLogs"]),
        st.tuples(st.one_of(st.sampled_from(["logs", "blocks"]), QUANTITY)).map(list),
    ),
    st.tuples(st.just("eth_getStorageAt"), with_block(ADDRESS, QUANTITY)),
    st.tuples(st.just("eth_call"), with_block(CALL)),
    st.tuples(st.just("eth_estimateGas"), with_block(CALL)),
    st.tuples(st.just("eth_fillTransaction"), with_block(CALL)),
    st.tuples(st.just("eth_simulateV1"), with_block(SIMULATION)),
    st.tuples(
        st.just("eth_feeHistory"),
        st.tuples(QUANTITY, st.one_of(BLOCK, OTHER), PERCENTILES).map(list),
    ),
    st.tuples(
        st.sampled_from(["eth_blockNumber", "eth_gasPrice", "eth_coinbase", "eth_accounts"]),
        st.sampled_from([[], [1]]),
    ),
)


def simulation(*calls: object) -> dict[str, object]:
    return {"blockStateCalls": [{"calls": calls}]}


@settings(max_examples=examples(300))
@given(payload=SIMULATION)
def test_a_simulation_is_the_same_whoever_reads_it(client: ApiClient, payload: object) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_simulateV1", "params": [payload]}
    ours, theirs = responses(client, request)
    assert ours == theirs


@settings(max_examples=examples(400))
@given(request=REQUESTS)
def test_a_plain_request_has_the_response_of_the_python_dispatcher(
    client: ApiClient, request: tuple[str, list[object]]
) -> None:
    method, params = request
    ours, theirs = responses(
        client, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    )
    assert ours == theirs


@settings(max_examples=examples(50))
@given(requests=st.lists(REQUESTS, min_size=1, max_size=6))
def test_a_batch_has_the_responses_of_its_items(
    client: ApiClient, requests: list[tuple[str, list[object]]]
) -> None:
    items = [
        {"jsonrpc": "2.0", "id": 7 + index, "method": method, "params": params}
        for index, (method, params) in enumerate(requests)
    ]
    single = [asyncio.run(client.handle(as_python(encoded(item)))) for item in items]
    assert asyncio.run(client.handle(encoded(items))) == b"[" + b",".join(single) + b"]"


IDS = st.sampled_from(
    [
        *(
            "1",
            "0",
            "-1",
            "1.0",
            "1e2",
            "01",
            "-0",
            "null",
            "true",
            "[]",
            "{}",
            "9" * 40,
            '""',
            '"a"',
        ),
        *('"\\u0061"', '"é"', '"a\tb"', '"' + "x" * 5_000 + '"'),
    ]
)
NAMES = st.sampled_from(['"eth_call "', '"ETH_CALL"', '"eth\\u005fcall"', "null", "1"])
AROUND = st.sampled_from(["", "", "", " ", "\n", "\ufeff", "x", ",", "\0"])


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Return a request with any separators, members in any order, repeated, missing or wrong, and damaged bytes."""
    comma, colon = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:\r")]))
    method, params = draw(REQUESTS)
    members = [
        ("jsonrpc", draw(st.sampled_from(['"2.0"', '"2.0"', '"2.0"', '"1.0"', "2.0"]))),
        ("id", draw(st.one_of(st.just("1"), IDS))),
        ("method", draw(st.one_of(st.just(json.dumps(method)), NAMES))),
        ("params", json.dumps(params, separators=(comma, colon))),
    ]
    others = [*members, *members, ("extra", "1")]
    members = draw(
        st.one_of(
            st.just(members),
            st.permutations(members),
            st.lists(st.sampled_from(others), max_size=6),
        )
    )
    text = "{" + comma.join(f'"{name}"{colon}{value}' for name, value in members) + "}"
    body = (draw(AROUND) + text + draw(AROUND)).encode()
    if draw(st.booleans()):
        return body
    place = draw(st.integers(0, len(body)))
    return body[:place] + draw(st.binary(max_size=1)) + body[place + draw(st.integers(0, 2)) :]


@settings(max_examples=examples(600))
@given(body=bodies(), is_batch=st.booleans())
def test_any_bytes_have_the_response_of_the_python_dispatcher(
    client: ApiClient, body: bytes, is_batch: bool
) -> None:
    handle = client.api.dispatcher.handle
    if is_batch:
        body = b"[" + body + b"," + body + b"]"

    async def responses() -> list[object]:
        # The crate responds at the root only; the third time from its cache, if it has one.
        found = [handle(body, LocalConnection(path)) for path in ("/", "/python", "/")]
        return [await it if inspect.isawaitable(it) else it for it in found]

    first, by_python, again = asyncio.run(responses())
    assert first == by_python == again


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getBalance", [str(ALICE), "latest"]),
        ("eth_getBalance", [str(NOBODY)]),
        ("eth_getTransactionCount", [str(ALICE), "0x3"]),
        ("eth_getCode", [str(LOGGER), "latest"]),
        ("eth_getStorageAt", [str(STORER), "0x0", "latest"]),
        ("eth_call", [{"to": str(ECHO), "data": "0x1234"}, "latest"]),
        ("eth_call", [{"to": str(ECHO), "input": "0x1234", "from": str(ALICE), "value": "0x1"}]),
        ("eth_estimateGas", [{"to": str(STORER), "from": str(ALICE)}]),
        ("eth_estimateGas", [{"to": str(NOBODY), "from": str(ALICE), "value": "0x1"}]),
        ("eth_createAccessList", [{"to": str(STORER), "from": str(ALICE)}]),
        ("eth_fillTransaction", [{"to": str(STORER), "from": str(ALICE), "data": "0x1234"}]),
        ("eth_fillTransaction", [{"to": str(NOBODY), "from": str(ALICE), "value": "0x1"}]),
        ("eth_simulateV1", [simulation({"to": str(STORER)}, {"to": str(LOGGER)}), "latest"]),
        ("eth_simulateV1", [{**simulation({"to": str(LOG)}), "validation": False}]),
        ("eth_getAccount", [str(LOGGER), "latest"]),
        ("eth_getAccountInfo", [str(LOGGER), "0x2"]),
        ("eth_blockNumber", []),
        ("eth_accounts", []),
        ("eth_getBlockByNumber", ["latest", True]),
        ("eth_getBlockByHash", ["block 2", False]),
        ("eth_getBlockReceipts", ["0x3"]),
        ("eth_getBlockTransactionCountByHash", ["block 2"]),
        ("eth_getTransactionByHash", ["transaction 1"]),
        ("eth_getTransactionReceipt", ["transaction 1"]),
        ("eth_getTransactionByBlockNumberAndIndex", ["0x2", "0x0"]),
        ("eth_getUncleCountByBlockNumber", ["latest"]),
        ("eth_getFilterChanges", ["logs"]),
        ("eth_getFilterLogs", ["logs"]),
        ("evm_revert", ["0xffff"]),
    ],
)
def test_what_clients_send_most_is_plain(
    client: ApiClient, method: str, params: list[object]
) -> None:
    body = encoded({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    native = native_response(client.api.dispatcher, body)
    assert native is not None
    assert native == asyncio.run(client.handle(as_python(body)))


@pytest.mark.parametrize(("to", "is_left"), [(REVERTER, False), (LOG, False), (LOOPER, True)])
def test_only_a_simulation_of_a_long_call_is_left_to_python(
    client: ApiClient, to: Address, is_left: bool
) -> None:
    params = [simulation({"to": str(to)})]
    request = {"jsonrpc": "2.0", "id": 7, "method": "eth_simulateV1", "params": params}
    response = native_response(client.api.dispatcher, json.dumps(request).encode())
    assert (response is None) is is_left
