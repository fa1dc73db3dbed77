"""Asset ids: how the bridge identifies a token on both layers."""

from __future__ import annotations

from typing import Final

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
