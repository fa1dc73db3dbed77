"""Keccak-256 and signatures, against published constants and eth_account."""

from __future__ import annotations

import pytest
from eth_account import Account
from eth_keys.datatypes import PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol import _native
from entresol.errors import InvalidSignature, MalformedValue
from tests.support.run.examples import examples

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
SECRET = bytes([0x46]) * 32
DIGEST = bytes([7]) * 32

secrets = st.integers(1, ORDER - 1).map(lambda number: number.to_bytes(32))
digests = st.binary(min_size=32, max_size=32)


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (b"", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
        (b"zkSync:BatchLeaf", "d82fec4a37cbdc47f1e5cc4ad64deacf34a48e6f7c61fa5b68fd58e543259cf4"),
        (b"zkSync:ChainIdLeaf", "39bc69363bb9e26cf14240de4e22569e95cf175cfbcf1ade1a47a253b4bf7f61"),
        (bytes(96), "46700b4d40ac5c35af2c22dda2787a91eb567b06c924a8fb8ae9a05b20c08c21"),
        (
            b"Some L2->L1 message",
            "4ba6379f4d5c7f9eae393022467be6d05f2426b51efeb0011705d9bb5c3ce263",
        ),
    ],
)
def test_keccak_gives_the_published_hashes(data: bytes, digest: str) -> None:
    assert _native.keccak256(data).hex() == digest


@given(digests, secrets)
@settings(max_examples=examples(20), deadline=None)
def test_signatures_are_those_of_eth_keys(digest: bytes, secret: bytes) -> None:
    expected = PrivateKey(secret).sign_msg_hash(digest).to_bytes()
    assert _native.sign(digest, secret) == expected


@given(digests, secrets)
@settings(max_examples=examples(20), deadline=None)
def test_a_signature_recovers_to_the_address_of_its_key(digest: bytes, secret: bytes) -> None:
    signature = _native.sign(digest, secret)
    address = _native.address_of(_native.public_key(secret))
    assert address.hex() == Account.from_key(secret).address[2:].lower()
    assert _native.recover(digest, signature) == address
    assert _native.recover(digest, signature[:64] + bytes([signature[64] + 27])) == address


def with_parts(*, r: int | None = None, s: int | None = None, parity: int | None = None) -> bytes:
    good = _native.sign(DIGEST, SECRET)
    return (
        (good[:32] if r is None else r.to_bytes(32))
        + (good[32:64] if s is None else s.to_bytes(32))
        + (good[64:] if parity is None else bytes([parity]))
    )


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        (with_parts(r=0), "r is zero"),
        (with_parts(r=ORDER), "r is not below the order of the curve"),
        (with_parts(s=ORDER // 2 + 1), "s is in the upper half of the order of the curve"),
        (with_parts(parity=2), "parity is 0, 1, 27 or 28, got 2"),
        (with_parts(r=5), "no public key gives this signature"),
        (with_parts()[:64], "a signature is 65 bytes, got 64"),
    ],
)
def test_a_rejected_signature_says_why(signature: bytes, reason: str) -> None:
    with pytest.raises(InvalidSignature, match=reason):
        _native.recover(DIGEST, signature)


def test_values_of_other_lengths_are_rejected() -> None:
    with pytest.raises(MalformedValue, match="a digest is 32 bytes, got 31"):
        _native.recover(bytes(31), bytes(65))
    with pytest.raises(MalformedValue, match="a digest is 32 bytes, got 33"):
        _native.sign(bytes(33), SECRET)
    with pytest.raises(MalformedValue, match="a secret key is 32 bytes, got 0"):
        _native.sign(DIGEST, b"")
    with pytest.raises(MalformedValue, match="a secret key is 32 bytes, got 64"):
        _native.public_key(bytes(64))


@pytest.mark.parametrize("secret", [bytes(32), ORDER.to_bytes(32)])
def test_secrets_outside_the_order_are_rejected(secret: bytes) -> None:
    with pytest.raises(MalformedValue, match="a secret key is from 1"):
        _native.sign(DIGEST, secret)
    with pytest.raises(MalformedValue, match="a secret key is from 1"):
        _native.public_key(secret)


@pytest.mark.parametrize(
    ("public_key", "reason"),
    [(bytes(64), "a public key is a point on the curve"), (bytes(63), "64 bytes, got 63")],
)
def test_other_public_keys_are_rejected(public_key: bytes, reason: str) -> None:
    with pytest.raises(MalformedValue, match=reason):
        _native.address_of(public_key)
