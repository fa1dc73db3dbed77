"""What L1 knows of a chain for good: whether it is for development, and whether its data is published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from entresol._native import keccak256
from entresol.errors import ExecutionFailed, ExecutionReverted, LayerOneMismatch, MalformedValue
from entresol.l1.custom_errors import failure_reason
from entresol.primitives import abi
from entresol.primitives.batches import DataScheme

if TYPE_CHECKING:
    from entresol.l1.layer_one import LayerOne
    from entresol.primitives.values import Address, Hash32

T = TypeVar("T")

_SCHEMES: Final = frozenset(DataScheme)
_UNKNOWN_SELECTOR: Final = keccak256(b"UnknownSelector(bytes4)")[:4]


class L1ChainSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a chain was created; the defaults are what chains of earlier versions are."""

    is_development: bool = True
    """Whether its operator may edit the state and act for accounts without their keys."""
    data_scheme: int = DataScheme.NONE

    @property
    def publishes(self) -> bool:
        """Whether the data of its batches is on L1."""
        return self.data_scheme != DataScheme.NONE


async def read_settings(
    l1: LayerOne, chain: Address, block: int | Hash32 | None = None
) -> L1ChainSettings:
    """Return the settings of a chain by the address of its contract, now or as of a block.

    A contract of an earlier version has no function that says whether it is for development: it is, and it publishes
    nothing. Raises `LayerOneMismatch` for what is no contract of a chain, and for a scheme that is not known here.
    """
    found = await _read(l1, chain, "isDevelopment()", "(bool)", block)
    if found is None:
        return L1ChainSettings()
    pair = await _read(l1, chain, "getDAValidatorPair()", "(address,uint8)", block)
    scheme = None if pair is None else pair[1]
    if scheme not in _SCHEMES:
        raise LayerOneMismatch(
            f"the chain's contract {chain.checksummed()} on {l1.name} publishes data by scheme {scheme}, which is not "
            "known here: a newer version may know it"
        )
    return L1ChainSettings(is_development=found[0], data_scheme=scheme)


async def _read(
    l1: LayerOne, chain: Address, signature: str, returns: str, block: int | Hash32 | None
) -> tuple[bool, int] | None:
    """Return the results of a view function; None if the contract has no such one.

    Only a revert by which a contract rejects an unknown function counts: what failed otherwise is no answer.
    """
    where = f"{signature} of {chain.checksummed()} on {l1.name}"
    try:
        output = await l1.call(chain, abi.encode_call(signature), block=block)
    except ExecutionFailed as error:
        if isinstance(error, ExecutionReverted) and error.data[:4] in (b"", _UNKNOWN_SELECTOR):
            return None
        raise LayerOneMismatch(f"{where} fails: {failure_reason(error)}") from error
    try:
        found: tuple[bool, int] = abi.decode(returns, output)
    except MalformedValue as error:
        raise LayerOneMismatch(f"{where} is not there: {error}") from error
    return found
