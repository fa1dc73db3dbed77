"""The crate and Python decode transactions of type 0x71 alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import decode_zk_transaction, rlp_decode, rlp_encode, sign, zk_parties
from entresol.errors import InvalidSignature, InvalidTransaction
from entresol.primitives.transactions import Paymaster, Transaction, ZkTransaction, decode
from entresol.primitives.transactions.envelope import decode_many, load
from entresol.primitives.transactions.zk_signature import transaction_hash, verify
from entresol.primitives.values import Address
from tests.support.contracts.accounts import sign_by
from tests.support.contracts.layer_two import ALICE, SECRETS

ADDRESSES = st.binary(min_size=20, max_size=20).map(Address)
PAYMASTERS = st.none() | st.builds(Paymaster, ADDRESSES, st.binary(max_size=80))
DEPENDENCIES = st.just(()) | st.just((bytes(32),))
PAYLOADS = st.builds(
    ZkTransaction,
    nonce=st.integers(0, 2**32 - 1),
    max_priority_fee_per_gas=st.integers(0, 2**128 - 1),
    max_fee_per_gas=st.integers(0, 2**128 - 1),
    gas_limit=st.integers(0, 2**64 - 1),
    to=ADDRESSES,
    value=st.integers(0, 2**256 - 1),
    data=st.binary(max_size=80),
    v=st.sampled_from([None, 0, 1, 27, 28]),
    r=st.just(0) | st.integers(0, 2**256 - 1),
    s=st.just(0) | st.integers(0, 2**256 - 1),
    chain_id=st.sampled_from([0, 1, 27, 270, 2**64 - 1]),
    sender=st.just(ALICE) | ADDRESSES,
    gas_per_pubdata_limit=st.integers(0, 2**64 - 1),
    factory_deps=DEPENDENCIES,
    custom_signature=st.binary(max_size=70),
    paymaster=PAYMASTERS,
)
SIGNING = st.sampled_from(["not", "plain", "custom"])


def signed(payload: ZkTransaction, how: str) -> ZkTransaction:
    """Return a transaction with Alice's signature, in one of both forms or none."""
    if how == "custom":
        return sign_by(payload, SECRETS[0])
    if how == "plain":
        return payload.with_signature(sign(payload.signing_hash(), SECRETS[0]))
    return payload


def in_python(raw: bytes) -> tuple[Any, ...] | type[Exception]:
    """Decode in Python alone; return fields, hash and what is wrong with the signature, or the kind of the error."""
    try:
        payload = ZkTransaction.decode(raw)
        digest = payload.signing_hash()
    except InvalidTransaction as error:
        return type(error)
    try:
        verify(payload, digest)
    except InvalidSignature as error:
        return payload, transaction_hash(payload, digest), str(error)
    return payload, transaction_hash(payload, digest), None


def as_decoded(raw: bytes) -> tuple[Any, ...] | type[Exception]:
    """Decode as a node does, one by one and many at once, which agree; return the same."""
    (together,) = decode_many([raw])
    if not isinstance(together, Transaction):
        with pytest.raises(type(together)):
            decode(raw)
        return type(together)
    assert decode(raw).hash == together.hash
    assert load(raw, together.sender).payload == together.payload
    assert load(raw, together.sender).hash == together.hash
    problem = together.signature_error
    return together.payload, together.hash, None if problem is None else str(problem)


@given(PAYLOADS, SIGNING)
def test_both_decode_the_same_fields_hash_and_signer(payload: ZkTransaction, how: str) -> None:
    raw = signed(payload, how).encode()
    expected = in_python(raw)
    found = as_decoded(raw)
    # An impersonation is nothing that arrives as bytes.
    assert found == expected or (found is InvalidSignature and payload.r == 5)
    assert (decode_zk_transaction(raw) is None) == (
        isinstance(expected, type) or bool(payload.factory_deps)
    )


@given(PAYLOADS)
def test_the_parties_are_those_of_the_whole_transaction(payload: ZkTransaction) -> None:
    paymaster = payload.sponsor
    named = None if paymaster is None else (paymaster.address, paymaster.input)
    assert zk_parties(payload.encode()) == (payload.sender, named)


@given(PAYLOADS, st.data())
def test_both_reject_the_same_bytes(payload: ZkTransaction, data: st.DataObject) -> None:
    raw = bytearray(payload.encode())
    at = data.draw(st.integers(1, len(raw) - 1))
    raw[at] = data.draw(st.integers(0, 255))
    changed = bytes(raw[: data.draw(st.sampled_from([len(raw), len(raw) - 1]))])
    assert as_decoded(changed) == in_python(changed)


@given(PAYLOADS, st.integers(0, 15), st.sampled_from([b"", b"\0", b"\0\1", b"\1" * 33, [], [b""]]))
def test_both_reject_the_same_fields(payload: ZkTransaction, at: int, item: Any) -> None:
    items: list[Any] = list(rlp_decode(payload.encode()[1:]))
    items[at] = item
    raw = b"\x71" + rlp_encode(items)
    assert as_decoded(raw) == in_python(raw)
