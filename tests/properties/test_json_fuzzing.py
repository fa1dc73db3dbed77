"""Any request has a JSON-RPC response, and the next call works."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.rpc.jsonrpc.dispatch import Dispatcher, RequestLimits
from tests.support.example_namespace import ALICE, Toy, dispatch
from tests.support.run.examples import examples

DISPATCHER = Dispatcher([Toy()], limits=RequestLimits(batch=5, response_bytes=50_000))
NAMES = sorted(DISPATCHER.methods)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(0, 300),
    st.floats(allow_nan=True),
    st.text(),
    st.sampled_from([ALICE, "0x", "latest", "0x1", "2.0", *NAMES]),
)
keys = st.one_of(st.text(), st.sampled_from(["jsonrpc", "id", "method", "params", "blockHash", "address"]))  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=12
)
calls = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(NAMES)},
    optional={"id": scalars, "params": values | st.lists(values, max_size=3)},
)


def check(body: bytes) -> None:
    response = dispatch(DISPATCHER, body)
    if response is not None:
        decoded = json.loads(response, parse_constant=pytest.fail)
        items = decoded if isinstance(decoded, list) else [decoded]
        assert items
        for item in items:
            check_response(item)


def check_response(response: dict[str, Any]) -> None:
    assert response["jsonrpc"] == "2.0"
    assert response["id"] is None or isinstance(response["id"], str | int | float)
    assert set(response) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    if "error" in response:
        assert {"code", "message"} <= set(response["error"]) <= {"code", "message", "data"}


@given(st.binary())
def test_any_bytes_have_a_response(body: bytes) -> None:
    check(body)


@given(values, st.booleans())
def test_any_json_has_a_response(body: object, ascii_only: bool) -> None:
    check(json.dumps(body, ensure_ascii=ascii_only).encode(errors="surrogatepass"))


@settings(max_examples=examples(300))
@given(calls | st.lists(calls | values, max_size=6))
def test_any_call_has_a_response(body: object) -> None:
    check(json.dumps(body).encode())


@given(calls, st.data())
def test_any_damaged_call_has_a_response(call: object, data: st.DataObject) -> None:
    body = bytearray(json.dumps(call).encode())
    at = data.draw(st.integers(0, len(body)))
    body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    check(bytes(body))
