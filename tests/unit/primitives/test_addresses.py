"""Contract addresses and aliases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.primitives.addresses import (
    alias,
    create2_address,
    create_address,
    unalias,
    zk_create2_address,
    zk_create_address,
)
from entresol.primitives.values import Address, Hash32

ALICE = Address.parse("0x36615Cf349d7F6344891B1e7CA7C72883F5dc049")


@given(st.binary(min_size=20, max_size=20).map(Address))
def test_an_alias_leads_back(address: Address) -> None:
    assert unalias(alias(address)) == address
    assert alias(unalias(address)) == address


@pytest.mark.parametrize(
    ("l1", "l2"),
    [
        ("0x" + "00" * 20, "0x1111000000000000000000000000000000001111"),
        ("0x" + "ff" * 20, "0x1111000000000000000000000000000000001110"),
        (
            "0xeeeeffffffffffffffffffffffffffffffffeeef",
            "0x0000000000000000000000000000000000000000",
        ),
    ],
)
def test_an_alias_wraps_around(l1: str, l2: str) -> None:
    assert str(alias(Address.parse(l1))) == l2


@pytest.mark.parametrize(
    ("creator", "nonce", "created"),
    [
        (
            "0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0",
            0,
            "0xcd234a471b72ba2f1ccf0a70fcaba648a5eecd8d",
        ),
        (
            "0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0",
            1,
            "0x343c43a37d37dff08ae8c4a11544c718abb4fcf8",
        ),
    ],
)
def test_create_follows_the_nonce(creator: str, nonce: int, created: str) -> None:
    assert str(create_address(Address.parse(creator), nonce)) == created


@pytest.mark.parametrize(
    ("creator", "salt", "init_code", "created"),
    [
        ("0x" + "00" * 20, "00" * 32, "00", "0x4d1a2e2bb4f88f0250f26ffff098b0b30b26bf38"),
        (
            "0xdeadbeef00000000000000000000000000000000",
            "00" * 32,
            "00",
            "0xb928f69bb1d91cd65274e3c79d8986362984fda3",
        ),
        ("0x" + "00" * 20, "00" * 32, "deadbeef", "0x70f2b2914a2a4b783faefb75f459a580616fcb5e"),
        ("0x" + "00" * 20, "00" * 32, "", "0xe33c0c7f7df4809055c3eba6c09cfe4baf1bd9e0"),
    ],
)
def test_create2_follows_salt_and_code(
    creator: str, salt: str, init_code: str, created: str
) -> None:
    address = create2_address(Address.parse(creator), Hash32.parse(salt), bytes.fromhex(init_code))
    assert str(address) == created


def test_the_deployer_gives_the_published_create_address() -> None:
    assert str(zk_create_address(ALICE, 1)) == "0x4b5df730c2e6b28e17013a1485e5d9bc41efe021"


def test_the_deployer_gives_the_published_create2_address() -> None:
    code = Hash32.parse("0x010001cb6a6e8d5f6829522f19fa9568660e0a9cd53b2e8be4deb0a679452e41")

    def expected(salt: bytes) -> bytes:
        creator = keccak256(b"zksyncCreate2") + bytes(12) + ALICE
        return keccak256(creator + salt + code + keccak256(b"\x01"))[12:]

    # The client library's example has a salt of one byte, which no contract can pass.
    assert expected(b"\x01").hex() == "29bac3e5e8ffe7415f97c956bfa106d70316ad50"
    salt = Hash32((1).to_bytes(32))
    assert zk_create2_address(ALICE, salt, code, b"\x01") == expected(salt)
