"""The tokens that pay for gas on the L2s of a node, as the configuration names them."""

from __future__ import annotations

import logging
import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol.errors import InvalidConfig, MalformedValue
from entresol.l1.embedded_genesis import development_token
from entresol.primitives.base_token import (
    ETH_TOKEN,
    ETHER_DECIMALS,
    ETHER_TOKEN,
    BaseToken,
    EtherPrice,
    tokens_per_ether,
)
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.node.config.schema import ChainConfig, NodeConfig

log = logging.getLogger(__name__)

FLAG: Final = "--base-token"
RATIO_FLAG: Final = "--base-token-ratio"
DECIMALS_FLAG: Final = "--base-token-decimals"
_SYMBOL: Final = re.compile(r"[A-Za-z][A-Za-z0-9.$_+-]{0,30}")
_TRANSFER_GAS: Final = 21_000
_COARSE: Final = 100
"""A gas price of fewer units cannot follow that of ether."""


class TokenRequest(NamedTuple):
    """The settings of a chain for its base token."""

    token: str | Address | None
    """A symbol, an address, or None for ether."""
    ratio: Fraction
    decimals: int

    @classmethod
    def of(cls, config: ChainConfig) -> TokenRequest:
        """Read the settings; errors name the flag."""
        token = None if config.base_token is None else _token(config.base_token)
        ratio = Fraction(1) if config.base_token_ratio is None else _ratio(config.base_token_ratio)
        if token is None and ratio != 1:
            raise InvalidConfig(RATIO_FLAG, f"it needs {FLAG}: ether is its own price")
        if config.base_token_decimals is not None and not isinstance(token, str):
            named = "ether has 18" if token is None else "the token has decimals of its own"
            raise InvalidConfig(DECIMALS_FLAG, f"it needs {FLAG} with a symbol: {named}")
        decimals = config.base_token_decimals
        return cls(token, ratio, ETHER_DECIMALS if decimals is None else decimals)

    def priced(self, token: BaseToken) -> BaseToken:
        """Return a token with the price that the settings say."""
        try:
            price = EtherPrice.of_tokens(self.ratio, token.decimals)
        except ValueError as error:
            problem = f"with {token.decimals} decimals, {error}"
            raise InvalidConfig(RATIO_FLAG, problem) from error
        return msgspec.structs.replace(token, ether_price=price)


def development_base_tokens(chains: Sequence[NodeConfig]) -> tuple[BaseToken, ...]:
    """Return the token that pays for gas on each L2 of a node that has a development L1, or none."""
    requests = [TokenRequest.of(chain.chain) for chain in chains]
    created: dict[str, BaseToken] = {}
    for request in requests:
        if not isinstance(request.token, str):
            continue
        token = created.setdefault(
            request.token, development_token(request.token, request.decimals)
        )
        if token.decimals != request.decimals:
            problem = f"another chain gives {request.token} {token.decimals} decimals, not {request.decimals}"
            raise InvalidConfig(DECIMALS_FLAG, problem)
    if any(request.token is not None for request in requests) and not chains[0].l1.l1:
        raise InvalidConfig(FLAG, "it is a token of an L1; leave out --no-l1")
    known = {token.l1_address: token for token in created.values()}
    return tuple(_known(request, created, known) for request in requests)


def warn_of_coarse_prices(chain_id: int, token: BaseToken, gas_price: int) -> None:
    """Warn if the smallest unit of a token is too much for a unit of gas to cost what it does in ether."""
    if token.is_ether or gas_price >= _COARSE:
        return
    cost = Decimal(_TRANSFER_GAS * gas_price).scaleb(-token.decimals)
    log.warning(
        "a transfer on chain %d costs at least %s %s: a unit of gas costs no less than the smallest unit of a token "
        "with %d decimals",
        *(chain_id, f"{cost:,f}", token.symbol, token.decimals),
    )


def _known(
    request: TokenRequest, created: dict[str, BaseToken], known: dict[Address, BaseToken]
) -> BaseToken:
    if request.token is None:
        return ETHER_TOKEN
    if isinstance(request.token, str):
        return request.priced(created[request.token])
    if request.token not in known:
        raise InvalidConfig(
            FLAG,
            f"the development L1 starts without a token at {request.token.checksummed()}: give a symbol, and the token is "
            "created, or the address of another chain's",
        )
    return request.priced(known[request.token])


def _token(text: str) -> str | Address | None:
    if text.upper() == ETHER_TOKEN.symbol:
        return None
    if text.lower().startswith("0x"):
        try:
            address = Address.parse(text)
        except MalformedValue as error:
            raise InvalidConfig(FLAG, error.problem) from error
        return None if address == ETH_TOKEN else address
    if _SYMBOL.fullmatch(text) is None:
        raise InvalidConfig(
            FLAG,
            f"a symbol is a letter, and up to 30 letters, digits and . $ _ + - after it, got {text[:64]!r}",
        )
    return text


def _ratio(value: str | float) -> Fraction:
    try:
        return tokens_per_ether(value)
    except ValueError as error:
        raise InvalidConfig(RATIO_FLAG, str(error)) from error
