"""Tokens of the development L1: mintable ones that pay for gas on its L2s."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol._native import keccak256
from entresol.contracts import artifact
from entresol.contracts.slots import Value, Word, storage_of
from entresol.l1.deployment import DeploymentStep, creation
from entresol.primitives.base_token import BaseToken
from entresol.primitives.values import Address, create_address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.genesis.genesis import GenesisAccount

_CONTRACT: Final = "TestERC20"

TOKEN_REGISTRAR: Final = Address(keccak256(b"entresol: the registrar of base tokens")[-20:])
"""Registers the tokens with the vault of the development L1, so that no address of another contract depends on them."""


class Holding(NamedTuple):
    """An amount of a token in a genesis."""

    token: Address
    owner: Address
    amount: int


def development_token(symbol: str, decimals: int) -> BaseToken:
    """Return the token of the development L1 that has a symbol, without its price.

    Its address follows from the symbol alone: neither from the contract's code, which later versions compile again, nor
    from the other tokens.
    """
    return BaseToken(
        l1_address=create_address(_creator(symbol), 0),
        name=f"{symbol} Token",
        symbol=symbol,
        decimals=decimals,
    )


def creation_of(token: BaseToken) -> DeploymentStep:
    """Return the transaction that creates a token, by a sender that sends nothing else."""
    arguments = (token.name, token.symbol, token.decimals)
    step = creation(_CONTRACT, "(string,string,uint8)", arguments)
    return step._replace(description=f"deploy {token.symbol}", sender=_creator(token.symbol))


def with_holdings(
    accounts: dict[Address, GenesisAccount], holdings: Iterable[Holding]
) -> dict[Address, GenesisAccount]:
    """Return the accounts with amounts of tokens, as if they had been minted; supplies are the sums of them."""
    found: dict[Address, dict[Address, int]] = defaultdict(lambda: defaultdict(int))
    for token, owner, amount in holdings:
        found[token][owner] += amount
    funded = dict(accounts)
    for token, owners in found.items():
        balances: dict[Word, Value] = dict(owners.items())
        minted: dict[str, Value] = {"totalSupply": sum(owners.values()), "balanceOf": balances}
        storage = {**accounts[token].storage, **storage_of(artifact(_CONTRACT), minted)}
        funded[token] = msgspec.structs.replace(accounts[token], storage=storage)
    return funded


def _creator(symbol: str) -> Address:
    """Return the sender of a token's creation, whose key nobody knows."""
    return Address(keccak256(b"entresol: the creator of the token " + symbol.encode())[-20:])
