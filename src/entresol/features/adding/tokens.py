"""The token that pays for gas on an L2 that is added to a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.errors import InvalidConfig
from entresol.node.base_tokens import DECIMALS_FLAG, FLAG, TokenRequest
from entresol.node.settlement.remote_tokens import read_token
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.features.adding.methods import NewChainFields
    from entresol.l1.layer_one import LayerOne
    from entresol.node.config.schema import ChainConfig


async def base_token_for(
    chain: NewChainFields, config: ChainConfig, known: Iterable[BaseToken], l1: LayerOne
) -> BaseToken:
    """Return a token by the symbol of one that is `known`, or by its address on L1; raises `InvalidConfig`."""
    decimals = chain.base_token_decimals
    settings = msgspec.structs.replace(
        config,
        base_token=chain.base_token,
        base_token_ratio=chain.base_token_ratio,
        base_token_decimals=None if decimals is None else int(decimals),
    )
    request = TokenRequest.of(settings)
    if request.token is None:
        return ETHER_TOKEN
    if not isinstance(request.token, str):
        return request.priced(await read_token(l1, request.token))
    found = next((token for token in known if token.symbol == request.token), None)
    if found is None:
        raise InvalidConfig(
            FLAG,
            f"no chain of the node is paid in {request.token}: create a token on L1, and give its address",
        )
    if decimals not in (None, found.decimals):
        raise InvalidConfig(DECIMALS_FLAG, f"{found.symbol} has {found.decimals}")
    return request.priced(found)
