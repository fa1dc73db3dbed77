"""Requests and batches, as far as no method is concerned."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from entresol.offload import POLICY
from entresol.rpc.jsonrpc.dispatch import Dispatcher, RequestLimits
from entresol.rpc.jsonrpc.envelope import RESULT, response
from tests.support.example_namespace import Toy, caller, dispatch, request

CHAIN_ID = request("toy_chainId")


@pytest.fixture
def dispatcher() -> Dispatcher:
    return Dispatcher([Toy()])


@pytest.mark.parametrize(
    "identity",
    [
        "0", "1", "-7", "1.0", "1e3", "1E+2", "123456789012345678901234567890", "1e999", "null",
        '""', '"abc"', r'"\u00e9\n\/"', '"é"', '"\U0001f600"',
    ],
)  # fmt: skip
def test_an_id_comes_back_as_it_was_sent(dispatcher: Dispatcher, identity: str) -> None:
    body = f'{{"jsonrpc":"2.0","id": {identity} ,"method":"toy_chainId"}}'.encode()
    expected = f'{{"jsonrpc":"2.0","id":{identity},"result":"0x10e"}}'.encode()
    assert dispatch(dispatcher, body) == expected
    assert dispatch(dispatcher, b" [" + body + b"]") == b"[" + expected + b"]"


@pytest.mark.parametrize(
    ("body", "code", "identity"),
    [
        # No JSON, or nothing that could be a request.
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"nonsense", -32700, None),
        (b"1", -32700, None),
        (b"{}", -32700, None),
        (b'{"jsonrpc":"2.0","method":1}', -32700, None),
        (CHAIN_ID + b"x", -32700, None),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"toy_chainId"}', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"toy_chainId","x":"\xff"}', -32700, None),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"toy_chainId"}', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"toy_chainId","params":[Infinity]}', -32700, None),
        (b'{"jsonrpc":"2.0","id":01,"method":"toy_chainId"}', -32700, None),
        (b'{"jsonrpc":"2.0","id":"\\x","method":"toy_chainId"}', -32700, None),
        # Half of a surrogate pair is not text.
        (request("toy_chainId", params=["\ud800"]), -32700, None),
        (b"[" + CHAIN_ID + b"," + request("toy_chainId", params=["\ud800"]) + b"]", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[" * 100_000 + b"]" * 100_000, -32700, None),
        (b'{"x":' * 100_000 + b"1" + b"}" * 100_000, -32700, None),
        # An object that is not a request, with an id to respond to.
        (b'{"id":5}', -32600, 5),
        (b'{"id":5,"method":"toy_chainId"}', -32600, 5),
        (b'{"id":5,"jsonrpc":"1.0","method":"toy_chainId"}', -32600, 5),
        (b'{"id":5,"jsonrpc":2.0,"method":"toy_chainId"}', -32600, 5),
        (b'{"id":5,"jsonrpc":"2.0","method":null}', -32600, 5),
        (b'{"id":"a","jsonrpc":"2.0"}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":{},"method":"toy_chainId"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"toy_chainId"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"toy_chainId"}', -32600, None),
        (b"[]", -32600, None),
        # No such method.
        (request("toy_nothing"), -32601, 1),
        (request("toy_not_a_method"), -32601, 1),
        (request("toy_notAMethod"), -32601, 1),
        (request("toy_chain_id"), -32601, 1),
        # Parameters that are neither array nor object.
        (request("toy_chainId", params="x"), -32602, 1),
    ],
)
def test_what_is_no_call_is_rejected(body: bytes, code: int, identity: object) -> None:
    response = caller()(body)
    assert response["error"]["code"] == code
    assert response["id"] == identity
    assert response["jsonrpc"] == "2.0"


def test_an_unknown_method_is_rejected_with_the_message_that_clients_match() -> None:
    message = caller()(request("eth_noSuchMethod"))["error"]["message"]
    assert message == "the method eth_noSuchMethod does not exist/is not available"


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"toy_chainId"}',
        b'{"method":"toy_chainId","params":null,"id":1,"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":1,"method":"toy_chainId","params":[]}',
        b'{"jsonrpc":"2.0","id":1,"method":"toy_chainId","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"toy_chainId","params":[1,"surplus"]}',
        b'{"jsonrpc":"2.0","id":1,"method":"toy_chainId","extra":{"a":[1]}}',
        b'\n\t {"jsonrpc":"2.0","id":1,"method":"toy_chainId"}\r\n',
        b'{"jsonrpc":"2.0","id":9,"id":1,"method":"toy_nothing","method":"toy_chainId"}',
        b'{"jsonrpc":"2.0","id":1,"method":"toy_\\u0063hainId"}',
    ],
)
def test_calls_may_be_written_in_many_ways(body: bytes) -> None:
    assert caller()(body) == {"jsonrpc": "2.0", "id": 1, "result": "0x10e"}


def test_a_notification_is_carried_out_without_a_response() -> None:
    toy = Toy()
    body = b'{"jsonrpc":"2.0","method":"toy_remember","params":["a"]}'
    assert dispatch(Dispatcher([toy]), body) is None
    assert dispatch(Dispatcher([toy]), b"[" + body + b"," + body + b"]") is None
    assert toy.heard == ["a", "a", "a"]


@pytest.mark.parametrize("name", ["toy_nothing", "toy_fail", "toy_wait", "toy_thread"])
def test_a_notification_that_fails_has_no_response_either(name: str) -> None:
    body = {"jsonrpc": "2.0", "method": name, "params": ["nonce"]}
    assert caller()(json.dumps(body).encode()) is None


def test_a_batch_has_a_response_per_item_in_order() -> None:
    items = [
        request("toy_wait", "slow", 50, id="a"),
        b"1",
        request("toy_chainId", id="b"),
        b'{"jsonrpc":"2.0","method":"toy_remember","params":["x"]}',
        b'{"id":7,"method":"toy_chainId"}',
        request("toy_nothing", id="c"),
        b"null",
        b"[]",
        b'{"foo":"bar"}',
    ]
    responses = caller()(b"[" + b",".join(items) + b"]")
    found = [(response["id"], response.get("result", response.get("error", {}).get("code"))) for response in responses]  # fmt: skip
    assert found == [
        ("a", "slow"), (None, -32600), ("b", "0x10e"), (7, -32600), ("c", -32601),
        (None, -32600), (None, -32600), (None, -32600),
    ]  # fmt: skip


@pytest.mark.parametrize("item", [CHAIN_ID, b"1"])
def test_a_batch_has_a_limit(item: bytes) -> None:
    send = caller(limits=RequestLimits(batch=3))
    assert len(send(b"[" + b",".join([item] * 3) + b"]")) == 3
    response = send(b"[" + b",".join([item] * 4) + b"]")
    assert response["error"]["code"] == -32010
    assert response["error"]["data"] == "Exceeded max limit of 3"
    assert response["id"] is None


def test_a_long_response_is_framed_as_a_short_one() -> None:
    long = b'"%b"' % bytes(POLICY.copied_bytes)
    for value in (long, Raw(long)):
        assert response(b"7", RESULT, value) == b'{"jsonrpc":"2.0","id":7,"result":%b}' % long
