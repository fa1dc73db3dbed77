"""Decoding of Ethereum transactions, against eth_account and byte by byte."""

from __future__ import annotations

from typing import Any

import pytest
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol import _native
from entresol.errors import InvalidSignature
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


@pytest.mark.parametrize("v", [b"", b"\x1a"])
def test_a_legacy_v_is_27_28_or_carries_a_chain_id(v: bytes) -> None:
    raw = _native.rlp_encode([b"", b"\x01", b"\x52\x08", TO, b"", b"", v, b"\x01", b"\x01"])
    with pytest.raises(InvalidSignature, match="v is 27, 28 or from 35 on"):
        _native.decode_transaction(raw)
