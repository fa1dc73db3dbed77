"""An L2 of a node, as `--config-out` and the method that adds one describe it."""

from typing import Annotated

import msgspec

from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.model import says


class ChainToken(msgspec.Struct, frozen=True, kw_only=True):
    """The token that pays for the gas of an L2, at a price in tokens for an ether."""

    l1_address: Annotated[Address, says("The token on L1; 0x…01 stands for ether.")]
    name: Annotated[str, says("The name of the token.")]
    symbol: Annotated[str, says("The short name of the token.")]
    decimals: Annotated[int, says("How many digits of an amount are behind the point.")]
    ratio: Annotated[str, says("How many of it an ether costs.")]


class ChainEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One of several L2s of a node; the names are those of `--config-out`."""

    chain_id: Annotated[int, says("The id of the chain.")]
    http_url: Annotated[str, says("Where it is served by HTTP.")]
    ws_url: Annotated[str, says("Where it is served by WebSocket.")]
    data_dir: Annotated[str | None, says("Its folder; null if it is temporary.")]
    contract: Annotated[Address | None, says("Its contract on L1; null without an L1.")]
    base_token: Annotated[ChainToken, says("What pays for its gas.")]
