from __future__ import annotations

import logging
from typing import Any

import pytest

from entresol.errors import InvalidConfig
from entresol.node.base_tokens import development_base_tokens, warn_of_coarse_prices
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken, EtherPrice

ZOO = {"base_token": "ZOO"}
ELSEWHERE = "0x" + "42" * 20


def tokens(*chains: dict[str, Any], l1: bool = True) -> tuple[BaseToken, ...]:
    return development_base_tokens(
        [NodeConfig(chain=ChainConfig(**chain), l1=L1Config(l1=l1)) for chain in chains]
    )


@pytest.mark.parametrize(
    "named", [{}, {"base_token": "ETH"}, {"base_token": "0x" + "0" * 39 + "1"}]
)
def test_gas_is_paid_in_ether_unless_another_token_is_named(named: dict[str, Any]) -> None:
    assert tokens(named) == (ETHER_TOKEN,)


def test_a_symbol_is_a_token_of_the_development_l1_with_18_decimals_at_the_price_of_ether() -> None:
    (token,) = tokens(ZOO)
    assert (token.name, token.symbol, token.decimals) == ("ZOO Token", "ZOO", 18)
    assert token.ether_price == EtherPrice(1, 1)


@pytest.mark.parametrize(
    ("ratio", "price"),
    [
        ("3000", EtherPrice(3000, 1)),
        ("0.5", EtherPrice(1, 2)),
        (1e22, EtherPrice(10**22, 1)),
        ("628/17", EtherPrice(628, 17)),
        ("1.5/2.5", EtherPrice(3, 5)),
    ],
)
def test_the_ratio_is_tokens_for_an_ether(ratio: str | float, price: EtherPrice) -> None:
    (token,) = tokens({**ZOO, "base_token_ratio": ratio})
    assert token.ether_price == price


def test_the_price_counts_smallest_units_of_a_token_with_other_decimals() -> None:
    (token,) = tokens({**ZOO, "base_token_ratio": "3000", "base_token_decimals": 6})
    assert (token.decimals, token.ether_price) == (6, EtherPrice(3, 10**9))


def test_chains_that_name_the_same_symbol_share_a_token_each_at_its_own_price() -> None:
    first, second, third = tokens(ZOO, {**ZOO, "base_token_ratio": 2}, {"base_token": "APE"})
    assert first.l1_address == second.l1_address != third.l1_address
    assert second.ether_price == EtherPrice(2, 1)


def test_the_address_of_another_chains_token_names_that_token() -> None:
    (token,) = tokens(ZOO)
    assert tokens({"base_token": str(token.l1_address)}, ZOO) == (token, token)


@pytest.mark.parametrize(
    ("flag", "problem", "chain"),
    [
        ("--base-token", "symbol", {"base_token": ""}),
        ("--base-token", "symbol", {"base_token": "1INCH"}),
        ("--base-token", "symbol", {"base_token": "Z" * 32}),
        ("--base-token", "40 hex digits|bytes", {"base_token": "0x1234"}),
        ("--base-token", "without a token at", {"base_token": ELSEWHERE}),
        ("--base-token-ratio", "above 0", {**ZOO, "base_token_ratio": "0"}),
        ("--base-token-ratio", "above 0", {**ZOO, "base_token_ratio": "1/0"}),
        ("--base-token-ratio", "above 0", {**ZOO, "base_token_ratio": float("inf")}),
        ("--base-token-ratio", "above 0", {**ZOO, "base_token_ratio": "1e999999999"}),
        ("--base-token-ratio", "above 0", {**ZOO, "base_token_ratio": "1" * 100_000}),
        ("--base-token-ratio", "2\\^128", {**ZOO, "base_token_ratio": str(2**128)}),
        ("--base-token-ratio", "2\\^128", {**ZOO, "base_token_ratio": "0." + "0" * 38 + "1"}),
        ("--base-token-ratio", "needs --base-token", {"base_token_ratio": "2"}),
        ("--base-token-decimals", "needs --base-token", {"base_token_decimals": 6}),
        (
            "--base-token-decimals",
            "decimals of its own",
            {"base_token": ELSEWHERE, "base_token_decimals": 6},
        ),
    ],
)
def test_settings_that_name_no_token_or_price_are_rejected(
    flag: str, problem: str, chain: dict[str, Any]
) -> None:
    with pytest.raises(InvalidConfig, match=rf"^{flag}: .*({problem})") as raised:
        tokens(chain)
    assert len(str(raised.value)) < 300


def test_chains_cannot_give_one_token_different_decimals() -> None:
    with pytest.raises(InvalidConfig, match="--base-token-decimals: another chain gives ZOO 18"):
        tokens(ZOO, {**ZOO, "base_token_decimals": 6})


def test_a_chain_without_an_l1_has_no_base_token() -> None:
    with pytest.raises(InvalidConfig, match=r"--base-token: .*--no-l1"):
        tokens(ZOO, l1=False)


def test_a_token_with_few_decimals_gets_a_warning_with_what_a_transfer_costs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    (token,) = tokens({**ZOO, "base_token_ratio": "3000", "base_token_decimals": 6})
    with caplog.at_level(logging.WARNING):
        warn_of_coarse_prices(270, token, 1)
    assert "a transfer on chain 270 costs at least 0.021000 ZOO" in caplog.text
