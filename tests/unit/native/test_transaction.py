"""Decoding of Ethereum transactions, against eth_account and byte by byte."""

from __future__ import annotations

from typing import Any

import pytest
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol import _native
from entresol.errors import (
    InvalidSignature,
    MalformedTransaction,
    TransactionRuleBroken,
)
from tests.support.hex_data import unhex
from tests.support.run.examples import examples

ACCOUNT = Account.from_key(bytes([0x46]) * 32)
TO = bytes([0x11]) * 20

u64 = st.integers(0, 2**64 - 1)
wei = st.integers(0, 2**128 - 1)
targets = st.none() | st.binary(min_size=20, max_size=20)
access_lists = st.lists(
    st.tuples(
        st.binary(min_size=20, max_size=20),
        st.lists(st.binary(min_size=32, max_size=32), max_size=3),
    ),
    max_size=3,
)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a transaction as eth_account takes it."""
    kind = draw(st.sampled_from(["any chain", "legacy", 1, 2, 4]))
    request: dict[str, Any] = {
        "nonce": draw(st.integers(0, 2**64 - 2)),
        "gas": draw(u64),
        "value": draw(st.integers(0, 2**256 - 1)),
        "data": draw(st.binary(max_size=80)),
    }
    to = draw(st.binary(min_size=20, max_size=20) if kind == 4 else targets)
    if to is not None:
        request["to"] = to
    if kind in ("any chain", "legacy", 1):
        request["gasPrice"] = draw(wei)
    else:
        request["maxFeePerGas"] = draw(wei)
        request["maxPriorityFeePerGas"] = draw(wei)
    if kind != "any chain":
        request["chainId"] = draw(st.integers(1, 2**63))
    if isinstance(kind, int):
        request["type"] = kind
        request["accessList"] = [
            {"address": f"0x{address.hex()}", "storageKeys": [f"0x{slot.hex()}" for slot in slots]}
            for address, slots in draw(access_lists)
        ]
    if kind == 4:
        authorization = {
            "chainId": draw(u64),
            "address": draw(st.binary(min_size=20, max_size=20)),
            "nonce": draw(st.integers(0, 2**64 - 2)),
        }
        request["authorizationList"] = [ACCOUNT.sign_authorization(authorization)]
    return request


def signed(**changes: Any) -> bytes:
    request = {"nonce": 1, "gas": 21_000, "to": TO, "value": 5, "chainId": 270}
    prices = {"maxFeePerGas": 10, "maxPriorityFeePerGas": 1}
    return bytes(ACCOUNT.sign_transaction(request | prices | changes).raw_transaction)


@given(requests())
@settings(max_examples=examples(40), deadline=None)
def test_decodes_every_field_that_eth_account_signs(wanted: dict[str, Any]) -> None:
    expected = ACCOUNT.sign_transaction(wanted)
    decoded = _native.decode_transaction(bytes(expected.raw_transaction))

    assert decoded.sender.hex() == ACCOUNT.address[2:].lower()
    assert decoded.hash == expected.hash
    assert (decoded.v, decoded.r, decoded.s) == (expected.v, expected.r, expected.s)
    assert decoded.type == wanted.get("type", 0)
    assert decoded.chain_id == wanted.get("chainId")
    assert decoded.nonce == wanted["nonce"]
    assert decoded.gas_price == wanted.get("gasPrice")
    assert decoded.max_fee_per_gas == wanted.get("maxFeePerGas")
    assert decoded.max_priority_fee_per_gas == wanted.get("maxPriorityFeePerGas")
    assert decoded.gas_limit == wanted["gas"]
    assert decoded.to == wanted.get("to")
    assert decoded.value == wanted["value"]
    assert decoded.data == wanted["data"]
    assert decoded.access_list == tuple(
        (unhex(entry["address"]), tuple(map(unhex, entry["storageKeys"])))
        for entry in wanted.get("accessList", [])
    )
    assert decoded.authorizations == tuple(
        (a.chain_id, bytes(a.address), a.nonce, a.y_parity, a.r, a.s)
        for a in wanted.get("authorizationList", [])
    )


def test_many_are_decoded_in_order() -> None:
    raws = [signed(nonce=nonce) for nonce in range(20)]
    nonces = [getattr(decoded, "nonce", None) for decoded in _native.decode_transactions(raws)]
    assert nonces == list(range(20))


@pytest.mark.parametrize(
    "kind",
    [0, 5],
)
def test_other_types_are_not_supported(kind: int) -> None:
    with pytest.raises(TransactionRuleBroken, match=f"not supported: {kind:#x}$"):
        _native.decode_transaction(bytes([kind]) + signed()[1:])


def fee_market(**changes: Any) -> bytes:
    """Encode a type 2 transaction that has some of its items replaced."""
    items: dict[str, Any] = {
        "chainId": b"\x01",
        "nonce": b"",
        "maxPriorityFeePerGas": b"\x01",
        "maxFeePerGas": b"\x02",
        "gasLimit": b"\x52\x08",
        "to": TO,
        "value": b"",
        "data": b"",
        "accessList": [],
        "yParity": b"\x01",
        "r": b"\x01",
        "s": b"\x01",
    }
    return b"\x02" + _native.rlp_encode(list((items | changes).values()))


@pytest.mark.parametrize(
    ("raw", "field", "problem"),
    [
        (b"", None, "empty input"),
        (b"\x02\x80", None, "a transaction is an rlp list"),
        (fee_market(extra=b""), None, "12 items expected, got 13"),
        (fee_market(gasLimit=[]), "gasLimit", "a byte string is expected, got a list"),
        (
            fee_market(accessList=[[TO, [b"\x01"]]]),
            "accessList[0].storageKeys[0]",
            "a storage key is 32 bytes, got 1",
        ),
    ],
)
def test_a_malformed_transaction_is_rejected_by_field(
    raw: bytes, field: str | None, problem: str
) -> None:
    with pytest.raises(MalformedTransaction) as caught:
        _native.decode_transaction(raw)
    assert caught.value.field == field
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (fee_market(yParity=b"\x02"), "yParity is 0 or 1, got 2"),
        (fee_market(r=b"\x05"), "no public key gives this signature"),
    ],
)
def test_an_impossible_signature_is_rejected(raw: bytes, reason: str) -> None:
    with pytest.raises(InvalidSignature, match=reason):
        _native.decode_transaction(raw)


@pytest.mark.parametrize(
    "v",
    [b"", b"\x1a"],
)
def test_a_legacy_v_is_27_28_or_carries_a_chain_id(v: bytes) -> None:
    raw = _native.rlp_encode([b"", b"\x01", b"\x52\x08", TO, b"", b"", v, b"\x01", b"\x01"])
    with pytest.raises(InvalidSignature, match="v is 27, 28 or from 35 on"):
        _native.decode_transaction(raw)
