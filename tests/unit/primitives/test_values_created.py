"""Contract addresses."""

from __future__ import annotations

import pytest

from entresol.primitives.values import Address, create_address


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
