"""What L1 knows of a chain for good: whether it is for development, and whether its data is published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.errors import ExecutionFailed, LayerOneMismatch, MalformedValue
from entresol.l1.custom_errors import failure_reason
from entresol.primitives import abi
from entresol.primitives.batches import DataScheme

if TYPE_CHECKING:
    from entresol.l1.layer_one import LayerOne
    from entresol.primitives.values import Address, Hash32

_SCHEMES: Final = frozenset(DataScheme)


class L1ChainSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a chain was created."""

    is_development: bool
    """Whether its operator may edit the state and act for accounts without their keys."""
    data_scheme: int

    @property
    def publishes(self) -> bool:
        """Whether the data of its batches is on L1."""
        return self.data_scheme != DataScheme.NONE


async def read_settings(
    l1: LayerOne, chain: Address, block: int | Hash32 | None = None
) -> L1ChainSettings:
    """Return the settings of a chain by the address of its contract, now or as of a block.

    Raises `LayerOneMismatch` for what is not a contract of a chain, and for a scheme that is not known here.
    """
    (is_development,) = await _read(l1, chain, "isDevelopment()", "(bool)", block)
    _, scheme = await _read(l1, chain, "getDAValidatorPair()", "(address,uint8)", block)
    if scheme not in _SCHEMES:
        raise LayerOneMismatch(
            f"the chain's contract {chain.checksummed()} on {l1.name} publishes data by scheme {scheme}, which is not "
            "known here: a newer version may know it"
        )
    return L1ChainSettings(is_development=is_development, data_scheme=scheme)


async def _read(
    l1: LayerOne, chain: Address, signature: str, returns: str, block: int | Hash32 | None
) -> tuple[Any, ...]:
    where = f"{signature} of {chain.checksummed()} on {l1.name}"
    try:
        output = await l1.call(chain, abi.encode_call(signature), block=block)
    except ExecutionFailed as error:
        raise LayerOneMismatch(f"{where} fails: {failure_reason(error)}") from error
    try:
        return abi.decode(returns, output)
    except MalformedValue as error:
        raise LayerOneMismatch(f"{where} is not there: {error}") from error
