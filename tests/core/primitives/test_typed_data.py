"""Typed data, hashed as eth_account hashes it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from eth_account.messages import encode_defunct, encode_typed_data
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.errors import MalformedValue
from entresol.primitives.typed_data import TypedData, personal_hash
from tests.support.clients.accounts import MAIL

Document = dict[str, Any]

# That of `with_member`.
DOMAIN = keccak256(keccak256(b"EIP712Domain(string name)") + keccak256(b"test"))


def digest(document: Document) -> str:
    return TypedData.parse(document).signing_hash().hex()


def reference(document: Document) -> str:
    signable = encode_typed_data(full_message=document)
    return keccak256(b"\x19" + signable.version + signable.header + signable.body).hex()


def with_member(kind: str, value: object) -> Document:
    return {
        "types": {"Thing": [{"name": "it", "type": kind}]},
        "primaryType": "Thing",
        "domain": {"name": "test"},
        "message": {"it": value},
    }


def nested_lists(depth: int) -> object:
    value: object = []
    for _ in range(depth):
        value = [value]
    return value


def hexed(size: int) -> st.SearchStrategy[str]:
    return st.binary(min_size=size, max_size=size).map(lambda data: "0x" + data.hex())


def number(low: int, high: int) -> st.SearchStrategy[int | str]:
    numbers = st.integers(low, high)
    return st.one_of(numbers, numbers.map(str), numbers.filter(lambda it: it >= 0).map(hex))


BITS = st.integers(1, 32).map(lambda size: 8 * size)


@st.composite
def atoms(draw: st.DrawFn) -> tuple[str, st.SearchStrategy[Any]]:
    bits = draw(BITS)
    return draw(
        st.sampled_from(
            [
                ("bool", st.booleans()),
                ("address", hexed(20)),
                ("string", st.text(st.characters(exclude_categories=["Cs"]), max_size=40)),
                ("bytes", st.binary(max_size=70).map(lambda data: "0x" + data.hex())),
                (f"bytes{bits // 8}", hexed(bits // 8)),
                (f"uint{bits}", number(0, 2**bits - 1)),
                (f"int{bits}", number(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)),
            ]
        )
    )


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Types that refer to those before them, alone or in arrays, and a value of the last one."""
    types: dict[str, list[dict[str, str]]] = {}
    values: dict[str, Any] = {}
    for name in draw(st.permutations(["Alpha", "Beta", "Gamma"])):
        members: list[dict[str, str]] = []
        fields: dict[str, st.SearchStrategy[Any]] = {}
        for index in range(draw(st.integers(1, 4))):
            kind, value = draw(atoms())
            if draw(st.booleans()) and values:
                kind = draw(st.sampled_from(sorted(values)))
                value = values[kind] | st.none()
            for _ in range(draw(st.integers(0, 2))):
                length = draw(st.sampled_from([None, 1, 2]))
                kind += f"[{'' if length is None else length}]"
                value = st.lists(value, min_size=length or 0, max_size=length or 3)
            members.append({"name": f"m{index}", "type": kind})
            fields[f"m{index}"] = value
        types[name], values[name] = members, st.fixed_dictionaries(fields)
        last = name
    domain = draw(st.fixed_dictionaries({"name": st.text("abc", max_size=5)}, optional={
        "version": st.just("1"), "chainId": st.integers(0, 2**64), "salt": hexed(32),
        "verifyingContract": hexed(20),
    }))  # fmt: skip
    kinds = {
        "name": "string", "version": "string", "chainId": "uint256",
        "verifyingContract": "address", "salt": "bytes32",
    }  # fmt: skip
    types["EIP712Domain"] = [{"name": n, "type": k} for n, k in kinds.items() if n in domain]
    used = {last: types[last], "EIP712Domain": types["EIP712Domain"]}
    waiting = [last]
    while waiting:
        for member in types[waiting.pop()]:
            core = member["type"].partition("[")[0]
            if core in types and core not in used:
                used[core] = types[core]
                waiting.append(core)
    return {"types": used, "primaryType": last, "domain": domain, "message": draw(values[last])}


@given(documents())
def test_any_document_hashes_as_eth_account_has_it(document: Document) -> None:
    assert digest(document) == reference(document)
    assert digest(json.loads(json.dumps(document))) == reference(document)


def test_the_example_of_the_standard_has_its_published_hash() -> None:
    expected = "be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2"
    assert digest(MAIL) == expected


def test_a_domain_without_a_type_has_the_members_that_are_given() -> None:
    types = {name: members for name, members in MAIL["types"].items() if name != "EIP712Domain"}
    assert digest({**MAIL, "types": types}) == digest(MAIL)


def test_a_type_may_contain_itself() -> None:
    document = with_member("Thing", None)
    document["types"]["Thing"].append({"name": "name", "type": "string"})
    document["message"] = {"it": {"it": None, "name": "inner"}, "name": "outer"}
    assert digest(document) == reference(document)


def test_the_domain_is_hashed_by_the_type_that_is_given() -> None:
    fields = {"chainId": "uint256", "name": "string", "owner": "Owner"}
    document = with_member("bool", value=True)
    document["types"]["Owner"] = [{"name": "wallet", "type": "address"}]
    document["types"]["EIP712Domain"] = [{"name": n, "type": k} for n, k in fields.items()]
    document["domain"] = {"name": "test", "chainId": 1, "owner": {"wallet": "0x" + "11" * 20}}
    kind = b"EIP712Domain(uint256 chainId,string name,Owner owner)Owner(address wallet)"
    owner = keccak256(keccak256(b"Owner(address wallet)") + bytes(12) + b"\x11" * 20)
    domain = keccak256(keccak256(kind) + (1).to_bytes(32) + keccak256(b"test") + owner)
    thing = keccak256(keccak256(b"Thing(bool it)") + (1).to_bytes(32))
    assert digest(document) == keccak256(b"\x19\x01" + domain + thing).hex()


def test_types_that_would_double_with_each_level_cost_nothing() -> None:
    document = with_member("T0", None)
    for level in range(200):
        kind = f"T{level + 1}" if level < 199 else "bool"
        document["types"][f"T{level}"] = [{"name": n, "type": kind} for n in ("a", "b")]
    document["message"] = {"it": {"a": None, "b": {"a": None}}}
    assert digest(document) == reference(document)


@pytest.mark.parametrize(
    ("kind", "value", "same"),
    [
        ("uint256", "0x0A", 10),
        ("uint256", "00010", 10),
        ("uint256", str(2**256 - 1), 2**256 - 1),
        ("int16", "-0x0A", -10),
        ("uint", 2**256 - 1, 2**256 - 1),
        ("address", "0x" + "Ab" * 20, "ab" * 20),
        ("bytes4", "0x01", "0x01000000"),
        ("bytes", "0xAB", "0xab"),
        ("string", None, None),
        ("uint8[0]", [], []),
    ],
)
def test_values_have_the_forms_that_wallets_send(kind: str, value: object, same: object) -> None:
    assert digest(with_member(kind, value)) == digest(with_member(kind, same))


def test_a_document_may_be_its_domain_alone() -> None:
    document = {**with_member("bool", value=True), "primaryType": "EIP712Domain"}
    assert digest(document) == keccak256(b"\x19\x01" + DOMAIN).hex()


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        ("uint8", 256, "message.it: does not fit uint8"),
        ("int8", 128, "message.it: does not fit int8"),
        ("uint256", True, "message.it: is a whole number"),
        ("uint256", 1.5, "message.it: is a whole number"),
        ("uint256", "0b11", "message.it: is a whole number"),
        ("uint", -1, "message.it: does not fit uint"),
        ("bool", "true", "message.it: is true or false"),
        ("bytes", "0102", "message.it: data starts with 0x"),
        ("bytes", "0x012", "message.it: data is whole bytes, got 3 hex digits"),
        ("bytes4", "0x0x01", "message.it: data is written in hex digits, got '0x0x01'"),
        ("function", "0x", "types.Thing.it: there is no type function"),
        ("(uint8,uint8)", [1, 2], "types.Thing[0]: '(uint8,uint8)' is not a type"),
        ("bytes2", "0x010203", "message.it: is at most 2 bytes, got 3"),
        ("string", 5, "message.it: is a string"),
        ("string[2]", ["one"], "message.it: has 2 items, got 1"),
        ("uint8[]", [1, None], "message.it[1]: is missing"),
        ("uint8", None, "message.it: is missing"),
        ("Other", {}, "types.Thing.it: there is no type Other"),
        ("", 1, "types.Thing[0]: '' is not a type"),
        ("Thing", 5, "message.it: is an object"),
    ],
)
def test_what_cannot_be_hashed_is_named(kind: str, value: object, problem: str) -> None:
    with pytest.raises(MalformedValue) as rejection:
        digest(with_member(kind, value))
    assert str(rejection.value) == problem


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"types": None}, "types: is an object"),
        ({"types": {"Thing": 5}}, "types.Thing: is an array of members"),
        ({"types": {"Thing": [{"name": "it"}]}}, "types.Thing[0]: has a name and a type"),
        ({"primaryType": "Nothing"}, "primaryType: is the name of one of the types"),
        ({"domain": []}, "domain: is an object"),
        ({"message": None}, "message: is an object"),
    ],
)
def test_a_document_has_all_its_parts(change: Document, problem: str) -> None:
    with pytest.raises(MalformedValue) as rejection:
        digest({**with_member("bool", value=True), **change})
    assert str(rejection.value) == problem


def test_nesting_has_an_end() -> None:
    value: object = {"it": None}
    for _ in range(62):
        value = {"it": value}
    assert digest(with_member("Thing", value))
    for _ in range(100_000):
        value = {"it": value}
    with pytest.raises(MalformedValue, match="is nested deeper than 64 levels"):
        digest(with_member("Thing", value))
    with pytest.raises(MalformedValue, match="is nested deeper than 64 levels"):
        digest(with_member("uint8" + "[]" * 100_000, nested_lists(100)))


def test_so_has_the_number_of_values() -> None:
    assert digest(with_member("uint8[]", [1] * 1_000))
    with pytest.raises(MalformedValue, match="message: has more than 20000 values"):
        digest(with_member("uint8[]", [1] * 20_000))


def test_so_has_the_number_of_types() -> None:
    document = with_member("bool", value=True)
    document["types"] |= {f"Type{number}": [] for number in range(256)}
    with pytest.raises(MalformedValue, match="types: has at most 256 types, got 257"):
        digest(document)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | hexed(20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["Alpha", "Beta"]), st.lists(
    st.fixed_dictionaries({
        "name": st.sampled_from("abc"),
        "type": st.sampled_from(["Alpha", "Beta[]", "Alpha[1][]", "uint8", "bytes4", "string", "No"]),
    }), max_size=3,
)), JSON, JSON)  # fmt: skip
def test_anything_is_hashed_or_rejected(types: Any, domain: Any, message: Any) -> None:
    document = {"types": types, "primaryType": "Alpha", "domain": domain, "message": message}
    with suppress(MalformedValue):
        digest(document)


@given(st.binary(max_size=200))
def test_plain_bytes_hash_as_eth_account_has_it(message: bytes) -> None:
    signable = encode_defunct(message)
    expected = keccak256(b"\x19" + signable.version + signable.header + signable.body)
    assert personal_hash(message) == expected
