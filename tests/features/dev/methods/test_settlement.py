"""The price of ether in the base token, as an operator sets it over JSON-RPC."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from entresol.features.dev.methods.settlement import EntresolBaseToken
from entresol.primitives.values import Hash32
from tests.support.rpc_client import NamespaceClient

METHOD = "entresol_setBaseTokenRatio"
SENT = Hash32(b"\x11" * 32)


class Ratios:
    """Takes ratios of up to a million."""

    def __init__(self) -> None:
        self.set: list[Fraction] = []

    async def set_ratio(self, tokens: Fraction) -> Hash32:
        if tokens > 10**6:
            raise ValueError("L1 cannot hold it")
        self.set.append(tokens)
        return SENT


@pytest.fixture
def ratios() -> Ratios:
    return Ratios()


@pytest.fixture
def client(ratios: Ratios) -> Iterator[NamespaceClient]:
    opened = NamespaceClient(EntresolBaseToken(ratios))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("ratio", "tokens"),
    [
        (3000, Fraction(3000)),
        ("3000", Fraction(3000)),
        (0.1, Fraction(1, 10)),
        (1e-7, Fraction(1, 10**7)),
        ("628/17", Fraction(628, 17)),
        ("0.5/0.25", Fraction(2)),
    ],
)
def test_a_ratio_is_taken_as_people_write_it(
    client: NamespaceClient, ratios: Ratios, ratio: object, tokens: Fraction
) -> None:
    assert client(METHOD, ratio) == str(SENT)
    assert ratios.set == [tokens]


@pytest.mark.parametrize(
    "ratio",
    [
        *(0, -1, "0", "1/0", "", "-3", "3,5", "1e3", "0x10", "\u0661", "1/2/3", " ", True, None),
        *([], {}, "9" * 61, "9" * 100_000, 1e300, 2**200, "1000001"),
    ],
)
def test_what_is_no_ratio_is_rejected_with_what_is_wrong(
    client: NamespaceClient, ratios: Ratios, ratio: Any
) -> None:
    caught = client.error(METHOD, ratio)
    assert caught.code == -32602
    assert len(caught.message) < 300
    assert ratios.set == []
