"""Tokens: asset ids, by which the bridge identifies them on both layers, the token that pays for an L2's gas, and its price."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Final, Self

import msgspec

from entresol import _native
from entresol._native import keccak256
from entresol.primitives.values import Address, Hash32

L2_BASE_TOKEN: Final = Address(_native.BASE_TOKEN)
L2_ASSET_ROUTER: Final = Address((0x10003).to_bytes(20))
L2_NATIVE_TOKEN_VAULT: Final = Address((0x10004).to_bytes(20))

ETH_TOKEN: Final = Address((1).to_bytes(20))
"""The address that represents ETH as a token."""


def asset_id(origin_chain_id: int, token: Address) -> Hash32:
    """Return the asset id of a token of `origin_chain_id`."""
    origin = origin_chain_id.to_bytes(32) + L2_NATIVE_TOKEN_VAULT.rjust(32, b"\0")
    return Hash32(keccak256(origin + token.rjust(32, b"\0")))


ETHER_DECIMALS: Final = 18
_SIZE: Final = 16
"""L1 keeps each of both numbers of a price in 128 bits."""
_LARGEST: Final = 2 ** (8 * _SIZE) - 1


_NUMBER: Final = r"\d{1,60}(?:\.\d{1,60})?"
_RATIO: Final = re.compile(rf"({_NUMBER})(?:/({_NUMBER}))?", re.ASCII)


def tokens_per_ether(value: str | float) -> Fraction:
    """Read how many tokens an ether costs, as people say it; raises `ValueError` if it is not a number above 0."""
    text = value if isinstance(value, str) else format(Decimal(repr(value)), "f")
    match = _RATIO.fullmatch(text.strip())
    tokens, ether = (Fraction(part or "1") for part in (match.groups() if match else ("0", "0")))
    if not tokens or not ether:
        raise ValueError(
            f"tokens for an ether are a number above 0 such as 3000, 0.5 or 628/17, got {text[:64]!r}"
        )
    return tokens / ether


class EtherPrice(msgspec.Struct, frozen=True):
    """How many of the token's smallest units a wei costs, as L1 has it: `nominator / denominator`."""

    nominator: int = 1
    denominator: int = 1

    def __post_init__(self) -> None:
        for name, number in (("nominator", self.nominator), ("denominator", self.denominator)):
            if not 1 <= number <= _LARGEST:
                raise ValueError(f"the {name} is from 1 to 2^128 - 1, got {number}")

    @classmethod
    def of_tokens(cls, tokens: Fraction, decimals: int) -> Self:
        """Return the price of an ether that costs `tokens`, as people say it; `ValueError` if L1 could not hold it."""
        price = tokens * Fraction(10) ** (decimals - ETHER_DECIMALS)
        return cls(price.numerator, price.denominator)

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """Read what `pack` returns."""
        return cls(int.from_bytes(packed[:_SIZE]), int.from_bytes(packed[_SIZE:]))

    def pack(self) -> bytes:
        """Return both numbers as bytes, for those who cannot hold so large ones."""
        return self.nominator.to_bytes(_SIZE) + self.denominator.to_bytes(_SIZE)

    def tokens(self, decimals: int) -> Fraction:
        """Return how many tokens an ether costs, as people say it."""
        return Fraction(self.nominator, self.denominator) / Fraction(10) ** (
            decimals - ETHER_DECIMALS
        )

    def units(self, wei: int) -> int:
        """Return what an amount of ether is worth, rounded up, so that no price becomes nothing."""
        return -(-wei * self.nominator // self.denominator)


class BaseToken(msgspec.Struct, frozen=True, kw_only=True):
    """The token that pays for an L2's gas: ether, or an ERC-20 of its L1."""

    l1_address: Address = ETH_TOKEN
    name: str = "Ether"
    symbol: str = "ETH"
    decimals: int = ETHER_DECIMALS
    ether_price: EtherPrice = EtherPrice()

    @property
    def unit(self) -> int:
        """How many of its smallest units a token has."""
        return int(10**self.decimals)

    @property
    def is_ether(self) -> bool:
        """Whether it is ether itself."""
        return self.l1_address == ETH_TOKEN


ETHER_TOKEN: Final = BaseToken()
