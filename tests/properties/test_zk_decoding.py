"""The crate decodes transactions of type 0x71 as somebody does who reads them item by item."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import (
    keccak256,
    recover,
    rlp_decode,
    rlp_encode,
    sign,
    zk_dependencies,
    zk_parties,
)
from entresol.errors import (
    InvalidSignature,
    InvalidTransaction,
    MalformedTransaction,
    MalformedValue,
    TransactionRuleBroken,
)
from entresol.primitives.transactions import Paymaster, Transaction, ZkTransaction, decode
from entresol.primitives.transactions.envelope import decode_many, load
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


def by_hand(raw: bytes) -> tuple[Any, ...] | type[Exception]:
    """Decode item by item; return fields, hash and what is wrong with the signature, or the kind of the error."""
    try:
        payload = _read(rlp_decode(raw[1:]))
        digest = payload.signing_hash()
    except (InvalidTransaction, MalformedValue) as error:
        return MalformedTransaction if isinstance(error, MalformedValue) else type(error)
    plain = payload.r.to_bytes(32) + payload.s.to_bytes(32)
    signature = payload.custom_signature
    if not signature and payload.v is not None:
        signature = plain + bytes([27 + payload.v % 27])
    return payload, keccak256(digest + keccak256(signature)), _problem(payload, digest, signature)


def _read(items: Any) -> ZkTransaction:
    if not isinstance(items, list) or len(items) != 16:
        raise MalformedValue("another form")
    numbers = {at: _number(items[at], bits) for at, bits in BITS.items()}
    v: int | None = numbers[7]
    if numbers[7] == numbers[10] and not (numbers[8] or numbers[9]):
        v = None
    if not isinstance(items[13], list) or not isinstance(items[15], list):
        raise MalformedValue("not a list")
    payload = ZkTransaction(
        nonce=numbers[0],
        max_priority_fee_per_gas=numbers[1],
        max_fee_per_gas=numbers[2],
        gas_limit=numbers[3],
        to=Address(_bytes(items[4])),
        value=numbers[5],
        data=_bytes(items[6]),
        v=v,
        r=numbers[8],
        s=numbers[9],
        chain_id=numbers[10],
        sender=Address(_bytes(items[11])),
        gas_per_pubdata_limit=numbers[12],
        factory_deps=tuple(map(_bytes, items[13])),
        custom_signature=_bytes(items[14]),
        paymaster=_paymaster(items[15]),
    )
    if payload.nonce > 2**32 - 1:
        raise TransactionRuleBroken("nonce overflow")
    if v not in (None, 0, 1, 27, 28):
        raise InvalidSignature("v")
    return payload


BITS = {0: 64, 1: 128, 2: 128, 3: 64, 5: 256, 7: 64, 8: 256, 9: 256, 10: 64, 12: 64}


def _bytes(item: Any) -> bytes:
    if not isinstance(item, bytes):
        raise MalformedValue("not bytes")
    return item


def _number(item: Any, bits: int) -> int:
    if _bytes(item)[:1] == b"\0" or len(item) > bits // 8:
        raise MalformedValue("not a number")
    return int.from_bytes(item)


def _paymaster(items: list[Any]) -> Paymaster | None:
    if not items:
        return None
    if len(items) != 2:
        raise MalformedValue("not two items")
    return Paymaster(Address(_bytes(items[0])), _bytes(items[1]))


def _problem(payload: ZkTransaction, digest: bytes, signature: bytes) -> str | None:
    if not signature:
        return "invalid signature: the transaction is not signed"
    if len(signature) != 65:
        return f"invalid signature: a signature is 65 bytes, got {len(signature)}"
    if signature[-1] not in (27, 28):
        return f"invalid signature: v of a custom signature is 27 or 28, got {signature[-1]}"
    try:
        signer = Address(recover(digest, signature))
    except InvalidSignature as error:
        return str(error)
    if signer == payload.sender:
        return None
    return f"invalid signature: signed by {signer}, sent from {payload.sender}"


def kind(found: tuple[Any, ...] | type[Exception]) -> object:
    """Return what `by_hand` finds; of an error only its kind, without what says more."""
    if not isinstance(found, type):
        return found
    kinds = (TransactionRuleBroken, InvalidSignature, MalformedTransaction)
    return next(kind for kind in kinds if issubclass(found, kind))


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


def assert_alike(raw: bytes) -> None:
    """Assert that bytes are decoded as by hand, or rejected; of two faults either may be the first."""
    found, expected = as_decoded(raw), by_hand(raw)
    assert isinstance(found, type) == isinstance(expected, type)
    if not isinstance(expected, type):
        assert found == expected


@given(PAYLOADS, SIGNING)
def test_fields_hash_and_signer_are_those_of_the_items(payload: ZkTransaction, how: str) -> None:
    raw = signed(payload, how).encode()
    expected = by_hand(raw)
    found = kind(as_decoded(raw))
    # An impersonation is nothing that arrives as bytes.
    assert found == kind(expected) or (found is InvalidSignature and payload.r == 5)
    if not isinstance(expected, type):
        assert expected[0].encode() == raw


@given(PAYLOADS)
def test_the_dependencies_are_those_of_the_whole_transaction(payload: ZkTransaction) -> None:
    expected = zip(payload.factory_dep_hashes(), payload.factory_deps, strict=True)
    assert zk_dependencies(payload.encode()) == list(expected)


@given(PAYLOADS)
def test_the_parties_are_those_of_the_whole_transaction(payload: ZkTransaction) -> None:
    paymaster = payload.sponsor
    named = None if paymaster is None else (paymaster.address, paymaster.input)
    assert zk_parties(payload.encode()) == (payload.sender, named)


@given(PAYLOADS, st.data())
def test_other_bytes_are_rejected_or_decoded_as_they_are(
    payload: ZkTransaction, data: st.DataObject
) -> None:
    raw = bytearray(payload.encode())
    at = data.draw(st.integers(1, len(raw) - 1))
    raw[at] = data.draw(st.integers(0, 255))
    changed = bytes(raw[: data.draw(st.sampled_from([len(raw), len(raw) - 1]))])
    assert_alike(changed)


@given(PAYLOADS, st.integers(0, 15), st.sampled_from([b"", b"\0", b"\0\1", b"\1" * 33, [], [b""]]))
def test_other_fields_are_rejected_or_decoded_as_they_are(
    payload: ZkTransaction, at: int, item: Any
) -> None:
    items: list[Any] = list(rlp_decode(payload.encode()[1:]))
    items[at] = item
    raw = b"\x71" + rlp_encode(items)
    assert_alike(raw)
