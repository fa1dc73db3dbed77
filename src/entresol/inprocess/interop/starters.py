"""The calls of a bundle as `sendBundle` takes them, with their attributes."""

from __future__ import annotations

from typing import Final, NamedTuple

from entresol.primitives import abi
from entresol.primitives.base_token import L2_ASSET_ROUTER
from entresol.primitives.interop_bundles import encode_erc7930
from entresol.primitives.values import Address, Hash32

_CALL_VALUE: Final = "interopCallValue(uint256)"
_INDIRECT: Final = "indirectCall(uint256)"
_EXECUTOR: Final = "executionAddress(bytes)"
_UNBUNDLER: Final = "unbundlerAddress(bytes)"
_ROUTED: Final = b"\x01"
"""How the data for the asset router begins."""
_BURN: Final = "(uint256,address,address)"
"""Amount, receiver and token."""


class CallStarter(NamedTuple):
    """One call of a bundle before it is sent."""

    to: bytes
    """As ERC-7930 has it, without a chain."""
    data: bytes
    attributes: tuple[bytes, ...] = ()
    value: int = 0
    """What the call has of the destination's base token."""
    indirect_value: int = 0
    """What the contract that makes the call here gets of this chain's base token."""


def remote_call(to: Address, data: bytes, value: int = 0) -> CallStarter:
    """Return a call with data, or with nothing but a value of the destination's base token."""
    attributes = (abi.encode_call(_CALL_VALUE, value),) if value else ()
    return CallStarter(encode_erc7930(None, to), data, attributes, value)


def token_transfer(asset: Hash32, amount: int, to: Address, token: Address) -> CallStarter:
    """Return the transfer of a token that is not the base token of either chain."""
    return _routed(asset, amount, to, token, 0)


def base_token_transfer(asset: Hash32, amount: int, to: Address, l1_token: Address) -> CallStarter:
    """Return the transfer of this chain's base token to a chain that has another one, where it is a token."""
    return _routed(asset, amount, to, l1_token, amount)


def bundle_attributes(executor: Address | None, unbundler: Address | None) -> list[bytes]:
    """Return the attributes of a bundle: who alone may execute it, and who may cancel its calls."""
    named = ((_EXECUTOR, executor), (_UNBUNDLER, unbundler))
    return [abi.encode_call(name, bytes(it)) for name, it in named if it is not None]


def _routed(asset: Hash32, amount: int, to: Address, token: Address, paid: int) -> CallStarter:
    burn = abi.encode(_BURN, (amount, to, token))
    data = _ROUTED + abi.encode("(bytes32,bytes)", (asset, burn))
    router = encode_erc7930(None, L2_ASSET_ROUTER)
    return CallStarter(router, data, (abi.encode_call(_INDIRECT, paid),), 0, paid)
