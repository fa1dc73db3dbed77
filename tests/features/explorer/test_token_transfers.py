"""Which logs are transfers of tokens, and what they say, however they lie."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.features.explorer.token_transfers import (
    MAX_ITEMS,
    TRANSFER,
    TRANSFER_BATCH,
    TRANSFER_SINGLE,
    TokenStandard,
    TokenTransfer,
    transfer_of,
)
from entresol.primitives.values import Address
from tests.support.hex_data import word
from tests.support.run.examples import examples

TOKEN, FROM, TO = (Address(bytes([it]) * 20) for it in (1, 2, 3))
SIDES = (bytes(12) + FROM, bytes(12) + TO)
OPERATOR = word(9)


def test_an_amount_of_an_erc20_is_transferred() -> None:
    found = transfer_of(TOKEN, (TRANSFER, *SIDES), word(2**256 - 1))
    assert found == TokenTransfer(TOKEN, TokenStandard.ERC20, FROM, TO, (2**256 - 1,))


def test_an_item_of_an_erc721_is_transferred() -> None:
    found = transfer_of(TOKEN, (TRANSFER, *SIDES, word(77)), b"")
    assert found == TokenTransfer(TOKEN, TokenStandard.ERC721, FROM, TO, (1,), (77,))


def test_some_of_an_item_of_an_erc1155_are_transferred() -> None:
    found = transfer_of(TOKEN, (TRANSFER_SINGLE, OPERATOR, *SIDES), word(7) + word(40))
    assert found == TokenTransfer(TOKEN, TokenStandard.ERC1155, FROM, TO, (40,), (7,))


def batch(ids: list[int], values: list[int]) -> bytes:
    arrays = [word(len(it)) + b"".join(map(word, it)) for it in (ids, values)]
    return word(64) + word(64 + len(arrays[0])) + b"".join(arrays)


def test_several_items_of_an_erc1155_are_transferred() -> None:
    found = transfer_of(TOKEN, (TRANSFER_BATCH, OPERATOR, *SIDES), batch([1, 2], [10, 20]))
    assert found is not None
    assert (found.ids, found.values) == ((1, 2), (10, 20))


@pytest.mark.parametrize(
    ("topics", "data"),
    [
        ((), b""),
        ((word(5), *SIDES), word(1)),
        ((TRANSFER,), word(1) * 3),
        ((TRANSFER, SIDES[0]), word(1)),
        ((TRANSFER, *SIDES), b""),
        ((TRANSFER, b"\1" * 32, SIDES[1]), word(1)),
        ((TRANSFER_SINGLE, *SIDES), word(1) * 2),
    ],
)
def test_what_has_another_form_is_no_transfer(topics: tuple[bytes, ...], data: bytes) -> None:
    assert transfer_of(TOKEN, topics, data) is None


@settings(max_examples=examples(100))
@given(st.sampled_from([TRANSFER_SINGLE, TRANSFER_BATCH]), st.binary(max_size=300))
def test_any_data_can_be_read(kind: bytes, data: bytes) -> None:
    found = transfer_of(TOKEN, (kind, OPERATOR, *SIDES), data)
    assert found is not None
    assert len(found.values) <= MAX_ITEMS


def test_an_array_that_claims_to_be_endless_ends_with_its_data() -> None:
    data = word(64) + word(64) + word(2**256 - 1) + word(1)
    found = transfer_of(TOKEN, (TRANSFER_BATCH, OPERATOR, *SIDES), data)
    assert found is not None
    assert found.ids == found.values == (1,)
