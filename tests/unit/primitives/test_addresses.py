"""Contract addresses and aliases."""

from __future__ import annotations

import pytest

from entresol.primitives.addresses import alias, create_address
from entresol.primitives.values import Address


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
