from __future__ import annotations

from typing import Any

import pytest

from entresol._native import keccak256
from entresol.contracts.abi_registry import MAX_ENTRIES, AbiRegistry, project_abis
from entresol.primitives import abi

ALICE = bytes.fromhex("f39fd6e51aad88f6f4ce6ab8827279cfffb92266")
ALICE_TEXT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


def parameter(kind: str, name: str = "", **more: Any) -> dict[str, Any]:
    return {"type": kind, "name": name, **more}


ORDER = parameter("tuple[]", "orders", components=[parameter("address"), parameter("uint256")])
TRANSFER_TYPES = "Transfer(address,address,uint256)"


def transfer(*, indexed: int) -> dict[str, Any]:
    kinds = [("address", "from"), ("address", "to"), ("uint256", "value")]
    inputs = [parameter(*it, indexed=n < indexed) for n, it in enumerate(kinds)]
    return {"type": "event", "name": "Transfer", "inputs": inputs}


REGISTRY = AbiRegistry.of(
    [
        [
            {
                "type": "function",
                "name": "f",
                "inputs": [parameter("address"), parameter("uint256"), parameter("string")],
                "outputs": [parameter("bool"), parameter("bytes")],
            },
            {"type": "function", "name": "fill", "inputs": [ORDER]},
            {"type": "error", "name": "TooSmall", "inputs": [parameter("int256")]},
            {"type": "constructor", "inputs": []},
            transfer(indexed=2),
            transfer(indexed=3),
        ]
    ]
)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (abi.encode_call("f(address,uint256,string)", ALICE, 5, "x"), f'f({ALICE_TEXT}, 5, "x")'),
        (
            abi.encode_call("f(address,uint256,string)", ALICE, 1_234_560, ""),
            f'f({ALICE_TEXT}, 1234560 [1.234e6], "")',
        ),
        (abi.encode_call("fill((address,uint256)[])", [(ALICE, 1)]), f"fill([({ALICE_TEXT}, 1)])"),
        (abi.encode_call("g()"), None),
        (abi.selector("f(address,uint256,string)") + b"\1", None),
        (b"", None),
    ],
)
def test_a_call_is_decoded(data: bytes, text: str | None) -> None:
    assert REGISTRY.call(data) == text


def test_what_a_function_returns_is_decoded() -> None:
    call = abi.selector("f(address,uint256,string)")
    assert REGISTRY.output(call, abi.encode("(bool,bytes)", (True, b"\1"))) == "true, 0x01"
    assert REGISTRY.output(call, b"") is None


def test_a_custom_error_is_decoded_and_named_even_if_its_arguments_are_missing() -> None:
    assert REGISTRY.error(abi.encode_call("TooSmall(int256)", -10_000)) == "TooSmall(-10000 [-1e4])"
    assert REGISTRY.error(abi.selector("TooSmall(int256)")) == "TooSmall"


@pytest.mark.parametrize("indexed", [2, 3])
def test_an_event_is_told_from_its_namesake_by_its_topics(indexed: int) -> None:
    words = [ALICE.rjust(32, b"\0"), bytes(32), (7).to_bytes(32)]
    topics = [keccak256(TRANSFER_TYPES.encode()), *words[:indexed]]
    text = REGISTRY.event(topics, b"".join(words[indexed:]))
    assert text == f"Transfer(from: {ALICE_TEXT}, to: 0x{'0' * 40}, value: 7)"


def test_an_unknown_event_is_none() -> None:
    assert REGISTRY.event([], b"") is None
    assert REGISTRY.event([bytes(32)], b"") is None


@pytest.mark.parametrize("entries", [None, {}, [1], [{"type": 5}]])
def test_what_is_no_abi_is_not_added(entries: Any) -> None:
    assert not AbiRegistry().add(entries)


def test_the_number_of_entries_is_limited() -> None:
    registry = AbiRegistry()
    assert registry.add([{"name": f"f{number}"} for number in range(MAX_ENTRIES + 9)])
    assert len(registry) == MAX_ENTRIES


def test_a_type_that_is_none_decodes_nothing() -> None:
    registry = AbiRegistry.of([[{"name": "f", "inputs": [parameter("nonsense")]}]])
    assert registry.call(abi.selector("f(nonsense)") + bytes(32)) is None


def test_a_base_is_asked_last() -> None:
    registry = AbiRegistry(project_abis)
    assert registry.call(abi.encode_call("withdraw(address)", bytes(20))) is not None


@pytest.mark.parametrize(
    ("signature", "values", "shown"),
    [
        ("log(string)", ["hello"], 'log(val: "hello")'),
        ("log_uint(uint256)", [7], "log_uint(val: 7)"),
        ("log_named_uint(string,uint256)", ["x", 7], 'log_named_uint(key: "x", val: 7)'),
        ("log_array(int256[])", [[-1, 2]], "log_array(val: [-1, 2])"),
        (
            "log_named_decimal_int(string,int256,uint256)",
            ["x", -5, 1],
            'log_named_decimal_int(key: "x", val: -5, decimals: 1)',
        ),
    ],
)
def test_events_of_forge_std_are_known(signature: str, values: list[object], shown: str) -> None:
    kinds = signature[signature.index("(") :]
    topic = keccak256(signature.encode())
    assert project_abis().event([topic], abi.encode(kinds, values)) == shown
