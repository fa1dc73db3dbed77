"""Block headers and their hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import rlp_encode
from entresol.errors import MalformedValue
from entresol.primitives.headers import Header, number_and_timestamp
from entresol.primitives.values import Address, Bloom, Hash32, Nonce8

if TYPE_CHECKING:
    from entresol._native import RlpItem

hashes = st.binary(min_size=32, max_size=32).map(Hash32)
u64 = st.integers(0, 2**64 - 1)
words = st.integers(0, 2**256 - 1)
headers = st.builds(
    Header,
    parent_hash=hashes,
    ommers_hash=hashes,
    beneficiary=st.binary(min_size=20, max_size=20).map(Address),
    state_root=hashes,
    transactions_root=hashes,
    receipts_root=hashes,
    logs_bloom=st.integers(0, 2**2048 - 1).map(lambda bits: Bloom(bits.to_bytes(256))),
    difficulty=words,
    number=u64,
    gas_limit=u64,
    gas_used=u64,
    timestamp=u64,
    extra_data=st.binary(max_size=40),
    mix_hash=hashes,
    nonce=st.binary(min_size=8, max_size=8).map(Nonce8),
    base_fee_per_gas=words,
)
GENESIS = Header(
    parent_hash=Hash32.zero(),
    state_root=Hash32.zero(),
    transactions_root=Hash32.zero(),
    receipts_root=Hash32.zero(),
    number=0,
    gas_limit=5000,
    timestamp=0,
    base_fee_per_gas=10**9,
)


@given(headers)
def test_headers_survive_a_round_trip(header: Header) -> None:
    assert Header.decode(header.encode()) == header


@given(headers)
def test_number_and_time_are_those_of_the_header(header: Header) -> None:
    assert number_and_timestamp(header.encode()) == (header.number, header.timestamp)


def test_the_published_genesis_hash() -> None:
    published = "0xef97917ce9bd9fa7d12ad6a8d81ea26c80ac1d727acc37cbb9799ae199788dc5"
    assert str(GENESIS.hash()) == published


@pytest.mark.parametrize(
    ("index", "item", "problem"),
    [
        (0, b"", "parentHash: a hash is 32 bytes, got 0"),
        (2, bytes(19), "miner: an address is 20 bytes, got 19"),
        (8, b"\0", "number: integer has a leading zero byte"),
        (12, [], "extraData: a byte string is expected, got a list"),
    ],
)
def test_a_malformed_header_is_rejected_by_field(index: int, item: RlpItem, problem: str) -> None:
    items = GENESIS.to_rlp()
    items[index] = item
    with pytest.raises(MalformedValue, match=problem):
        Header.decode(rlp_encode(items))


@given(headers, st.integers(0, 5), hashes)
def test_fields_of_later_forks_are_part_of_the_hash(
    header: Header, count: int, word: Hash32
) -> None:
    later = {
        "withdrawals_root": word,
        "blob_gas_used": 0,
        "excess_blob_gas": 7,
        "parent_beacon_block_root": word,
        "requests_hash": word,
    }
    full = msgspec.structs.replace(header, **dict(list(later.items())[:count]))
    assert Header.decode(full.encode()) == full
    assert (full.hash() == header.hash()) == (count == 0)


@pytest.mark.parametrize(
    ("encoded", "problem"),
    [
        (b"", "rlp ends before its item at byte 0"),
        (b"\x80", "a header is an rlp list"),
        (b"\xc0", "a header has 16 to 21 items, got 0"),
        (GENESIS.encode() + b"\0", "rlp has trailing bytes"),
    ],
)
def test_other_bytes_are_no_header(encoded: bytes, problem: str) -> None:
    for read in (Header.decode, number_and_timestamp):
        with pytest.raises(MalformedValue, match=problem):
            read(encoded)
