"""The `entresol_` methods about the token that pays for an L2's gas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from entresol.errors import LayerOneFailed, MalformedValue
from entresol.primitives.base_token import tokens_per_ether
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.method import ServedBy, method

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from fractions import Fraction


class RatioControl(Protocol):
    """Changes on L1 what ether costs in the base token."""

    def set_ratio(self, tokens: Fraction) -> Awaitable[Hash32]:
        """Let an ether cost so many tokens, and return the hash of the L1 transaction; raises `ValueError`."""


class EntresolBaseToken:
    """Changes the price of ether in the token that pays for gas."""

    prefix = "entresol"

    def __init__(self, control: RatioControl) -> None:
        self._control = control

    @method(LayerOneFailed, MalformedValue, served_by=ServedBy.PRODUCER)
    async def set_base_token_ratio(self, ratio: str | int | float) -> Hash32:  # noqa: PYI041 - as in JSON
        """Let an ether cost so many base tokens, such as 3000, 0.5 or "628/17"; return the L1 transaction's hash.

        The admin of the chain's contract calls `setTokenMultiplier`. Every price of the L2 follows once that block of L1
        is confirmed, on the development L1 at once. Deposits made before keep their price.
        """
        try:
            return await self._control.set_ratio(tokens_per_ether(ratio))
        except ValueError as error:
            raise MalformedValue(str(error), field="ratio") from error
