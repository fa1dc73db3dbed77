"""Fund the relay on an L2 of the development L1, by a deposit like anybody's, so that the books stay exact."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from entresol.l1.contracts import read_contract
from entresol.primitives import abi
from entresol.rollup.relay.account import RelayCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.l1.deployment import SettlementContracts
    from entresol.l1.layer_one import LayerOne
    from entresol.primitives.base_token import BaseToken
    from entresol.rollup.relay.account import ChainAccount

_ETHER: Final = 10**18
DEPOSITED: Final = 100 * _ETHER
"""What a deposit brings, in ether, or as much of another token as that costs."""
LOW: Final = _ETHER
"""Below this there is another deposit."""
RETRY_SECONDS: Final = 30.0
_GAS: Final = 300_000
_GAS_PER_PUBDATA: Final = 800
_MAX_L1_GAS: Final = 2_000_000
_COST: Final = "l2TransactionBaseCost(uint256,uint256,uint256,uint256)"
_REQUEST: Final = "requestL2TransactionDirect((uint256,uint256,address,uint256,bytes,uint256,uint256,bytes[],address))"


class RelayFunding:
    """Deposits for the relay's account on one L2 when that has little left; its account on L1 has a genesis balance.

    Remembers: when it has deposited last. Persists: nothing. Fails: as the account on L1 does.
    """

    def __init__(  # noqa: PLR0913 - both layers
        self,
        l1: LayerOne,
        contracts: SettlementContracts,
        base_token: BaseToken,
        chain_id: int,
        *,
        on_l1: ChainAccount,
        on_l2: ChainAccount,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._l1 = l1
        self._contracts = contracts
        self._token = base_token
        self._chain_id = chain_id
        self._on_l1 = on_l1
        self._on_l2 = on_l2
        self._clock = clock
        self._next = 0.0

    async def step(self) -> None:
        """Deposit if there is little left, unless that was done a moment ago."""
        units = self._token.ether_price.units
        if self._clock() < self._next or await self._on_l2.balance() >= units(LOW):
            return
        self._next = self._clock() + RETRY_SECONDS
        price = 2 * (await self._l1.fees()).gas_price
        arguments = (self._chain_id, price, _GAS, _GAS_PER_PUBDATA)
        bridgehub = self._contracts.bridgehub
        cost = int(await read_contract(self._l1, bridgehub, _COST, "uint256", *arguments))
        for call in self._calls(units(DEPOSITED), cost):
            sent = await self._on_l1.submit(call, _MAX_L1_GAS)
            # The next one needs what this one does.
            while sent is not None and await self._on_l1.outcome(sent) is None:
                await self._l1.wait_for_block(RETRY_SECONDS)

    def _calls(self, amount: int, cost: int) -> Iterator[RelayCall]:
        """Yield what a deposit takes: anybody may mint the tokens of the development L1."""
        paid, address = amount + cost, self._on_l1.address
        if not self._token.is_ether:
            token = self._token.l1_address
            yield RelayCall(token, abi.encode_call("mint(address,uint256)", address, paid))
            spender = self._contracts.asset_router
            yield RelayCall(token, abi.encode_call("approve(address,uint256)", spender, paid))
        request: tuple[object, ...] = (
            *(self._chain_id, paid, address, amount, b"", _GAS, _GAS_PER_PUBDATA, [], address),
        )
        value = paid if self._token.is_ether else 0
        yield RelayCall(self._contracts.bridgehub, abi.encode_call(_REQUEST, request), value)
