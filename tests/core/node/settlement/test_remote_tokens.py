from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from entresol.errors import ExecutionReverted, InvalidConfig
from entresol.l1.layer_one import LayerOne
from entresol.node.config.schema import ChainConfig, NodeConfig
from entresol.node.settlement.remote_tokens import read_token, requested_token
from entresol.primitives import abi
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken, EtherPrice
from entresol.primitives.values import Address

TOKEN = Address(b"\x70" * 20)
USD: Mapping[str, bytes | None] = {
    "name()": abi.encode("(string)", ("US Dollar",)),
    "symbol()": abi.encode("(string)", ("USD",)),
    "decimals()": abi.encode("(uint8)", (6,)),
}
DOLLAR = BaseToken(l1_address=TOKEN, name="US Dollar", symbol="USD", decimals=6)


class FakeLayerOne:
    """An L1 whose contracts return what a test says; None reverts, as do functions that it does not name."""

    name = "an L1"

    def __init__(self, *contracts: tuple[Address, Mapping[str, bytes | None]]) -> None:
        self._contracts = {
            address: {abi.selector(it): output for it, output in functions.items()}
            for address, functions in contracts
        }

    async def chain_id(self) -> int:
        return 31337

    async def code(self, address: Address) -> bytes:
        return b"\1" if address in self._contracts else b""

    async def call(self, to: Address, data: bytes, **_: object) -> bytes:
        output = self._contracts[to].get(data[:4])
        if output is None:
            raise ExecutionReverted(b"", "\x1b[2J" * 1000)
        return output


def layer(*contracts: tuple[Address, Mapping[str, bytes | None]]) -> LayerOne:
    return cast(LayerOne, FakeLayerOne(*contracts))


def read(functions: Mapping[str, bytes | None]) -> BaseToken:
    return asyncio.run(read_token(layer((TOKEN, functions)), TOKEN))


def found(l1: LayerOne, **chain: Any) -> BaseToken:
    return asyncio.run(requested_token(l1, NodeConfig(chain=ChainConfig(**chain))))


def test_a_token_is_what_its_contract_says() -> None:
    assert read(USD) == DOLLAR


def test_an_early_token_has_32_bytes_of_text() -> None:
    words = {"name()": b"Old".ljust(32, b"\0"), "symbol()": b"OLD".ljust(32, b"\0")}
    token = read({**USD, **words})
    assert (token.name, token.symbol) == ("Old", "OLD")


@pytest.mark.parametrize(
    ("function", "output"),
    [
        ("name()", None),
        ("symbol()", None),
        ("decimals()", None),
        ("name()", b""),
        ("symbol()", b""),
        ("decimals()", b""),
        ("decimals()", abi.encode("(uint256)", (31,))),
        ("decimals()", b"\xff" * 32),
        ("name()", abi.encode("(string)", ("x" * 129,))),
        ("symbol()", abi.encode("(string)", ("x" * 10**6,))),
        ("symbol()", abi.encode("(string)", ("",))),
        ("symbol()", abi.encode("(string)", (" ",))),
        ("symbol()", abi.encode("(string)", ("\x1b[2J",))),
        ("symbol()", abi.encode("(bytes)", (b"\xff\xfe",))),
        ("symbol()", b"\xff" * 64),
    ],
)
def test_a_token_that_says_nothing_or_nonsense_cannot_pay_for_gas(
    function: str, output: bytes | None
) -> None:
    with pytest.raises(
        InvalidConfig, match=r"^--base-token: the \w+ at 0x7070\S+ on an L1 "
    ) as raised:
        read({**USD, function: output})
    assert len(str(raised.value)) < 300
    assert str(raised.value).isprintable()


def test_an_address_without_code_is_no_token() -> None:
    with pytest.raises(InvalidConfig, match="there is no contract"):
        found(layer(), base_token=str(TOKEN))


def test_a_symbol_is_for_the_development_l1() -> None:
    symbol: dict[str, Any] = {"base_token": "ZOO"}
    with pytest.raises(
        InvalidConfig, match="--base-token: ZOO would be a new token of the development"
    ):
        found(layer(), **symbol)


def test_a_new_chain_is_paid_in_the_token_that_a_flag_names_at_its_ratio() -> None:
    l1 = layer((TOKEN, USD))
    token = found(l1, base_token=str(TOKEN), base_token_ratio=3000)
    assert (token.symbol, token.ether_price) == ("USD", EtherPrice(3, 10**9))
    assert found(l1) == ETHER_TOKEN
