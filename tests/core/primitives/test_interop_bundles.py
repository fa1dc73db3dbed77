"""Bundles have one encoding, the one that the contracts hash."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.errors import MalformedValue
from entresol.primitives.interop_bundles import VERSION, BundleCall, InteropBundle, encode_erc7930
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.bundles import Call, PlainBundle

addresses = st.binary(min_size=20, max_size=20).map(Address)
hashes = st.binary(min_size=32, max_size=32).map(Hash32)
numbers = st.integers(0, 2**256 - 1)
calls = st.builds(
    BundleCall,
    addresses,
    addresses,
    numbers,
    st.binary(max_size=100),
    st.just(VERSION),
    st.just(False),
)
bundles = st.builds(
    InteropBundle, numbers, numbers, hashes, hashes, st.lists(calls, max_size=4).map(tuple), st.binary(max_size=40),
    st.binary(max_size=40), st.booleans(), st.just(VERSION),
)  # fmt: skip


@given(bundles)
def test_a_bundle_is_what_its_encoding_says(bundle: InteropBundle) -> None:
    assert InteropBundle.decode(bundle.encode()) == bundle
    assert bundle.message() == VERSION + bundle.encode()


@given(bundles)
def test_a_bundle_is_encoded_as_eth_abi_does(bundle: InteropBundle) -> None:
    plain = PlainBundle(
        calls=[
            Call(to=call.to, sender=call.sender, value=call.value, data=call.data)
            for call in bundle.calls
        ],
        base_token=bundle.base_token,
        source=bundle.source,
        destination=bundle.destination,
        salt=bundle.salt,
        attributes=(bundle.executor, bundle.unbundler, bundle.has_fixed_fee),
    )
    assert bundle.encode() == plain.encode()


@given(bundles, st.data())
def test_no_other_bytes_are_the_same_bundle(bundle: InteropBundle, data: Any) -> None:
    encoded = bytearray(bundle.encode())
    encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= data.draw(st.integers(1, 255))
    with suppress(MalformedValue):
        assert InteropBundle.decode(bytes(encoded)) != bundle


@pytest.mark.parametrize(
    ("chain_id", "address", "encoded"),
    [
        (1, Address(b"\x11" * 20), "00010000" + "0101" + "14" + "11" * 20),
        (0x1234, None, "00010000" + "021234" + "00"),
        (None, Address(b"\x11" * 20), "00010000" + "00" + "14" + "11" * 20),
    ],
)
def test_chains_and_addresses_are_encoded_by_erc_7930(
    chain_id: int | None, address: Address | None, encoded: str
) -> None:
    assert encode_erc7930(chain_id, address).hex() == encoded
