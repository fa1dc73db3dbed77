"""The published genesis: round trips, parts, its hash, and what is rejected by name."""

from __future__ import annotations

import os

import msgspec
import pytest
from hypothesis import given

from entresol._native import keccak256
from entresol.errors import NotPublishable, UnreadableData
from entresol.primitives.published.compression import compress
from entresol.primitives.published.genesis import (
    PublishedAccount,
    PublishedGenesis,
    read_genesis_data,
)
from entresol.primitives.published.limits import MAX_GENESIS_BYTES, MAX_GENESIS_PART
from entresol.primitives.values import Address, Hash32
from tests.support.published.rejected import block, single_segment
from tests.support.published.values import SMALL_GENESIS, geneses


@given(geneses)
def test_a_genesis_is_read_as_it_was_written(genesis: PublishedGenesis) -> None:
    assert PublishedGenesis.decode(genesis.encode()) == genesis


def test_a_genesis_is_found_in_its_parts() -> None:
    large = with_code(os.urandom(250_000))
    published = large.publish()
    assert published is not None
    parts = [
        published[at : at + MAX_GENESIS_PART] for at in range(0, len(published), MAX_GENESIS_PART)
    ]
    assert len(parts) == 3
    assert read_genesis_data(parts, large.hash()) == large


def test_another_compression_of_a_genesis_has_the_same_hash() -> None:
    published = raw_frame(SMALL_GENESIS.encode())
    assert published != SMALL_GENESIS.publish()
    assert read_genesis_data([published], SMALL_GENESIS.hash()) == SMALL_GENESIS
    assert SMALL_GENESIS.hash() == keccak256(SMALL_GENESIS.encode())


def test_a_genesis_with_another_hash_is_rejected_before_it_is_read() -> None:
    with pytest.raises(UnreadableData, match=r"genesis\.hash"):
        read_genesis_data([compress(b"\xff" * 100)], SMALL_GENESIS.hash())


def test_a_genesis_that_is_too_large_is_not_published() -> None:
    assert with_code(os.urandom(MAX_GENESIS_BYTES)).publish() is None
    assert with_code(bytes(9 * 1024 * 1024)).publish() is None


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("genesis.accounts", {"accounts": SMALL_GENESIS.accounts[::-1]}),
        ("genesis.timestamp", {"timestamp": 2**64}),
        ("genesis.difficulty", {"difficulty": 2**256}),
        ("genesis.difficulty", {"difficulty": -1}),
        ("genesis.mix_hash", {"mix_hash": b""}),
        (
            "genesis.slots",
            {
                "accounts": (
                    PublishedAccount(
                        address=Address.zero(), slots=((Hash32.zero(), Hash32.zero()),)
                    ),
                )
            },
        ),
    ],
)
def test_what_cannot_be_published_is_not_encoded(field: str, changes: dict[str, object]) -> None:
    with pytest.raises(NotPublishable, match=field):
        msgspec.structs.replace(SMALL_GENESIS, **changes).encode()


def with_code(code: bytes) -> PublishedGenesis:
    account = PublishedAccount(address=Address(b"\x09" * 20), code=code)
    return msgspec.structs.replace(SMALL_GENESIS, accounts=(account,))


def raw_frame(encoded: bytes) -> bytes:
    return single_segment(len(encoded), block(0, encoded, is_last=True))
