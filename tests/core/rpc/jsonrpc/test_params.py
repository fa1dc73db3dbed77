"""Parameters: by position, by name, left out and wrong."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from entresol.cache_limits import CACHES
from entresol.offload import POLICY
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.errors import InvalidParamsError
from entresol.rpc.jsonrpc.params import MAX_OBJECTS, Parameter, ParamsReader
from tests.support.example_namespace import ALICE, caller, request

HASH = "0x" + "ab" * 32


def result(name: str, params: object) -> Any:
    return caller()(request(name, params=params))["result"]


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("toy_getBalance", [ALICE], f"{ALICE}@latest"),
        ("toy_getBalance", [ALICE, None], f"{ALICE}@latest"),
        ("toy_getBalance", [ALICE.upper()[2:], "0x10", "surplus"], f"{ALICE}@0x10"),
        ("toy_getBalance", [ALICE, "10"], f"{ALICE}@0xa"),
        ("toy_getBalance", [ALICE, "finalized"], f"{ALICE}@finalized"),
        ("toy_getBalance", [ALICE, HASH], f"{ALICE}@{HASH}"),
        ("toy_getBalance", [ALICE, {"blockHash": HASH}], f"{ALICE}@{HASH}"),
        ("toy_getBalance", {"address": ALICE}, f"{ALICE}@latest"),
        ("toy_getBalance", {"block": "0x1", "address": ALICE, "x": 1}, f"{ALICE}@0x1"),
        ("toy_getBalance", {"block": None, "address": ALICE}, f"{ALICE}@latest"),
        ("toy_getBlock", ["latest"], None),
        ("toy_getBlock", {"blockNumber": "0x0"}, None),
        ("toy_getBlock", {"block_number": "0x0", "full": True}, None),
        ("toy_numbers", [3], [3, None]),
        ("toy_numbers", [3, [1, 2.5]], [3, [1.0, 2.5]]),
        ("toy_anything", [{"a": [None]}], {"a": [None]}),
        ("toy_anything", None, None),
        ("toy_signTypedData_v4", ["t"], "t"),
        ("toy_who", ["a"], "alocal"),
        ("toy_who", ["a", "b"], "alocalb"),
        ("toy_who", {"word": "a", "more": "c"}, "alocalc"),
    ],
)
def test_parameters_arrive(name: str, params: object, expected: object) -> None:
    assert result(name, params) == expected


def test_a_call_object_is_read_as_clients_write_it() -> None:
    sent = {
        "from": ALICE,
        "to": None,
        "gasLimit": "0x0320",
        "data": "0x",
        "factoryDeps": [[0, 255], "00ff", "0x01"],
        "chain_id": 270,
    }
    read = {
        "from": ALICE,
        "to": None,
        "gasLimit": "0x320",
        "data": "0x",
        "factoryDeps": [[0, 255], [0, 255], [1]],
    }
    assert result("toy_call", [sent, None, {ALICE: {}}]) == [read, "pending", 1]


@pytest.mark.parametrize(
    ("name", "params", "complaint"),
    [
        ("toy_getBalance", [], "params[0]: address is missing"),
        ("toy_getBalance", None, "params[0]: address is missing"),
        ("toy_getBalance", {}, "params.address: is missing"),
        ("toy_getBalance", ["0x" + "11" * 19], "params[0]: an address is 20 bytes, got 19"),
        ("toy_getBalance", [None], "params[0]: an address is a hex string, got null"),
        ("toy_getBalance", [ALICE, "0xzz"], 'params[1]: not a block number or tag: "0xzz"'),
        ("toy_getBalance", [ALICE, 5.5], "params[1]: a block is a number or a tag"),
        ("toy_getBalance", [ALICE, {}], "params[1]: give either blockNumber or blockHash"),
        ("toy_getBalance", [ALICE, {"blockHash": "0x1"}],
         "params[1].blockHash: a hash is 32 bytes, got 1 hex digits"),
        ("toy_getBalance", {"address": "0x"}, "params.address: an address is 20 bytes, got 0"),
        ("toy_getBlock", [HASH], f'params[0]: not a block number or tag: "{HASH}"'),
        ("toy_getBlock", {"full": 1}, "params.blockNumber: is missing"),
        ("toy_getBlock", ["0x1", "yes"], "params[1]: expected `bool | null`, got `str`"),
        ("toy_numbers", ["0x1"], "params[0]: expected `int`, got `str`"),
        ("toy_call", [{"to": "0x" + "11" * 19}], "params[0].to: an address is 20 bytes, got 19"),
        ("toy_call", {"request": {"to": "0x"}}, "params.request.to: an address is 20 bytes, got 0"),
        ("toy_call", [{"factoryDeps": [[256]]}],
         "params[0].factoryDeps[0]: bytes are an array of numbers from 0 to 255, or hex digits"),
        ("toy_call", ["x"], "params[0]: expected `object`, got `str`"),
        ("toy_call", [{}, "latest", {"0x1": {}}],
         "params[2]: an address is 20 bytes, got 1 hex digits"),
        ("toy_call", "x", "params: should be an array or an object"),
    ],
)  # fmt: skip
def test_an_error_names_the_path(name: str, params: object, complaint: str) -> None:
    error = caller()(request(name, params=params))["error"]
    assert (error["code"], error["message"]) == (-32602, complaint)


def test_parameters_that_come_again_are_not_read_again() -> None:
    reader = ParamsReader([Parameter("data", Data)])
    first = reader.read(Raw(b'["0x01"]'))
    assert reader.read(Raw(b'["0x01"]')) is first
    assert reader.read(Raw(b'["0x02"]')) == (Data(b"\2"),)


def test_long_parameters_and_mistakes_are_not_cached() -> None:
    reader = ParamsReader([Parameter("data", Data)])
    long = Raw(b'["0x%b"]' % (b"00" * CACHES.cached_params))
    assert reader.read(long) is not reader.read(long)
    for _ in range(2):
        with pytest.raises(InvalidParamsError):
            reader.read(Raw(b'["0x0"]'))


LONG = Raw(b'["' + b"a" * POLICY.params_bytes + b'"]')


def test_long_parameters_are_deferred_to_a_worker() -> None:
    reader = ParamsReader([Parameter("word", str)], may_offload=True)
    assert reader.reads_on_thread(LONG)
    assert reader.read_long(LONG) == ("a" * POLICY.params_bytes,)


def test_where_the_order_counts_long_parameters_are_read_at_once() -> None:
    reader = ParamsReader([Parameter("word", str)])
    assert not reader.reads_on_thread(LONG)
    assert reader.read(LONG) == ("a" * POLICY.params_bytes,)


def test_errors_in_long_parameters_are_reported_as_in_others() -> None:
    sent = request("toy_maybeLater", "yes" * POLICY.params_bytes)
    error = caller()(sent)["error"]
    assert (error["code"], error["message"]) == (
        -32602,
        "params[0]: expected `bool | null`, got `str`",
    )


@pytest.mark.parametrize("may_offload", [True, False])
def test_very_many_objects_are_rejected_before_they_are_decoded(may_offload: bool) -> None:
    reader = ParamsReader([Parameter("calls", list[dict[str, str]])], may_offload=may_offload)

    def read(count: int) -> Any:
        params = Raw(b"[[" + b",".join([b"{}"] * count) + b"]]")
        return reader.read(params)

    assert read(MAX_OBJECTS - 2) == ([{}] * (MAX_OBJECTS - 2),)
    with pytest.raises(InvalidParamsError, match="more than 65536 objects and arrays"):
        read(MAX_OBJECTS)


@pytest.mark.parametrize("may_offload", [True, False])
def test_parameters_that_are_never_long_are_rejected_before_they_are_decoded(
    may_offload: bool,
) -> None:
    numbers = [Parameter("numbers", list[float])]
    reader = ParamsReader(numbers, may_offload=may_offload, may_be_long=False)
    longest = b"[[" + b"0,".ljust(POLICY.params_bytes - 5) + b"1]]"
    assert reader.read(Raw(longest)) == ([0.0, 1.0],)
    with pytest.raises(InvalidParamsError, match="at most 65536 bytes are allowed, got 65537"):
        reader.read(Raw(longest + b" "))
