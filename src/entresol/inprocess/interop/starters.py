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
BURN: Final = "(uint256,address,address)"
"""Amount, receiver and token."""


class CallStarter(NamedTuple):
    """One call of a bundle before it is sent."""

    to: bytes
    """As ERC-7930 has it, without a chain."""
    data: bytes
    attributes: tuple[bytes, ...] = ()
    value: int = 0
    """The value of the call in the destination's base token."""
    indirect_value: int = 0
    """The amount of this chain's base token for the contract that makes the call here."""


def remote_call(to: Address, data: bytes, value: int = 0) -> CallStarter:
    """Return a call with data, or with nothing but a value of the destination's base token."""
    attributes = (abi.encode_call(_CALL_VALUE, value),) if value else ()
    return CallStarter(encode_erc7930(None, to), data, attributes, value)


def token_transfer(
    asset: Hash32, amount: int, to: Address, token: Address, paid: int = 0
) -> CallStarter:
    """Return the transfer of what is a token on the other chain; the base token of this one is `paid`."""
    data, router = router_data(asset, amount, to, token), encode_erc7930(None, L2_ASSET_ROUTER)
    return CallStarter(router, data, (abi.encode_call(_INDIRECT, paid),), 0, paid)


def router_data(asset: bytes, amount: int, to: Address, token: Address) -> bytes:
    """Return what an asset router takes to move an amount of a token."""
    return b"\x01" + abi.encode("(bytes32,bytes)", (asset, abi.encode(BURN, (amount, to, token))))


def bundle_attributes(executor: Address | None, unbundler: Address | None) -> list[bytes]:
    """Return the attributes of a bundle: who alone may execute it, and who may cancel its calls."""
    named = ((_EXECUTOR, executor), (_UNBUNDLER, unbundler))
    return [abi.encode_call(name, bytes(account)) for name, account in named if account is not None]
