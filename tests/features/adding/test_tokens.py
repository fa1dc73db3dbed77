"""The token of an L2 that is added: by the symbol of one that is known."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import pytest

from entresol.errors import InvalidConfig
from entresol.features.adding.methods import NewChainFields
from entresol.features.adding.tokens import base_token_for
from entresol.node.config.schema import ChainConfig
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken, EtherPrice
from entresol.primitives.values import Address
from entresol.rpc.types.number import Number
from tests.support.rollup.layer_ones import Embedded

ZOO = BaseToken(
    l1_address=Address(b"\7" * 20),
    name="Zoo",
    symbol="ZOO",
    decimals=6,
    ether_price=EtherPrice.of_tokens(Fraction(1), 6),
)


def token_of(symbol: str | None, decimals: int | None = None) -> BaseToken:
    """Return the token of a new chain on a node that knows one token."""
    embedded = Embedded()
    given = None if decimals is None else Number(decimals)
    chain = NewChainFields(
        chain_id=Number(5), base_token=symbol, base_token_decimals=given, base_token_ratio=None
    )
    try:
        return asyncio.run(base_token_for(chain, ChainConfig(), [ZOO], embedded.l1))
    finally:
        embedded.chain.close()


@pytest.mark.parametrize("decimals", [None, 6])
def test_a_known_symbol_is_that_token(decimals: int | None) -> None:
    assert token_of("ZOO", decimals) == ZOO


@pytest.mark.parametrize("decimals", [5, 7, 18])
def test_other_decimals_than_those_of_a_known_symbol_are_rejected(decimals: int) -> None:
    with pytest.raises(InvalidConfig, match="ZOO has 6"):
        token_of("ZOO", decimals)


def test_an_unknown_symbol_is_rejected() -> None:
    with pytest.raises(InvalidConfig, match="no chain of the node is paid in ELK"):
        token_of("ELK")


def test_no_symbol_is_ether() -> None:
    assert token_of(None) == ETHER_TOKEN
