"""Change on L1 what ether costs in the base token of an L2, by the key of the contract's admin."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from entresol.errors import ExecutionFailed, LayerOneFailed
from entresol.l1.contracts import failure_reason
from entresol.primitives import abi
from entresol.primitives.base_token import EtherPrice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from entresol.chain.fees import FeeModel
    from entresol.l1.contracts import ZkChain
    from entresol.primitives.values import Address, Hash32
    from entresol.rollup.settlement.settler import Settler

log = logging.getLogger(__name__)

SEND_SECONDS: Final = 30.0
"""How long a pending settlement step of the same key may delay the call."""


class BaseTokenRatio:
    """Sets the price of ether in the base token.

    Assumes: the thread that changes the chain. Fails: with `ValueError` for a price that L1 or a block could not hold,
    with `LayerOneFailed` if the node has not the key of the admin, or L1 fails.
    """

    def __init__(
        self,
        contract: ZkChain,
        fees: FeeModel,
        decimals: int,
        settlers: Sequence[Settler],
        registrar: Address | None = None,
    ) -> None:
        """`settlers` have the keys that may be the admin's; `decimals` are those of the token.

        `registrar` tells the chain what calls to other chains cost at the new price.
        """
        self._contract = contract
        self._fees = fees
        self._decimals = decimals
        self._settlers = settlers
        self._registrar = registrar

    async def set(self, tokens: Fraction) -> Hash32:
        """Let an ether cost so many tokens, and return the hash of the L1 transaction."""
        if self._fees.is_in_ether:
            raise LayerOneFailed("gas on this chain is paid in ether, whose price in itself is 1")
        price = EtherPrice.of_tokens(tokens, self._decimals)
        self._fees.check_ether_price(price)
        admin = await self._contract.admin()
        settler = next((settler for settler in self._settlers if settler.has_key_of(admin)), None)
        if settler is None:
            raise self._not_admin(admin, price)
        numbers = price.nominator, price.denominator
        data = abi.encode_call("setTokenMultiplier(uint128,uint128)", *numbers)
        try:
            async with asyncio.timeout(SEND_SECONDS):
                sent = await settler.send_call(admin, self._contract.address, data)
        except TimeoutError:
            raise LayerOneFailed(
                f"a settlement step of {admin.checksummed()} is pending on {self._contract.l1.name}: try again later"
            ) from None
        except ExecutionFailed as error:
            raise LayerOneFailed(
                f"setTokenMultiplier fails on {self._contract.l1.name}: {failure_reason(error)}"
            ) from error
        if self._registrar is not None:
            await self._update_fee(settler, admin, self._registrar)
        return sent

    async def _update_fee(self, settler: Settler, admin: Address, registrar: Address) -> None:
        """Have L1 tell the chain what calls to other chains cost now; anyone can do it later, too."""
        data = abi.encode_call("updateInteropFee(uint256)", await self._contract.chain_id())
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await settler.send_call(admin, registrar, data)
        except (TimeoutError, LayerOneFailed, ExecutionFailed) as error:
            reason = failure_reason(error) if isinstance(error, ExecutionFailed) else error
            log.info("calls to other chains cost what they did before: %s", reason)

    def _not_admin(self, admin: Address, price: EtherPrice) -> LayerOneFailed:
        return LayerOneFailed(
            f"the node has no key of {admin.checksummed()}, the admin of the chain: have it call "
            f"setTokenMultiplier({price.nominator}, {price.denominator}) of {self._contract.address.checksummed()} on "
            f"{self._contract.l1.name}"
        )
