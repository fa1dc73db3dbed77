"""An L2 whose fees are paid in a token, at a price."""

from __future__ import annotations

from typing import Any, Final

from entresol.chain.fees import LARGEST_BASE_FEE
from entresol.chain.keyring import Keyring
from entresol.node.config.schema import ChainConfig, NodeConfig
from entresol.node.opening.layer_two import open_layer_two
from entresol.primitives.base_token import BaseToken, EtherPrice
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import BOB
from tests.support.chain.served import served_chain
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rpc_client import DispatcherClient

TOKEN: Final = Address(b"\x33" * 20)
USER: Final = ACCOUNTS[0]
DEAREST: Final = EtherPrice(LARGEST_BASE_FEE, 10**8)
REQUEST_PRICES: Final = (2**64, 2**127, 2**128 - 1, 2**128, 2**200)
"""Prices of gas that a request of L1 can ask for; the last two are more than a chain can pay."""


class PricedChain(DispatcherClient):
    """An L2 that is paid in a token, and its methods."""

    def __init__(self, price: EtherPrice) -> None:
        config = NodeConfig(chain=ChainConfig(balance=10**12, accounts=1))
        token = BaseToken(l1_address=TOKEN, ether_price=price)
        self.chain, self.fees = open_layer_two(config, None, None, base_token=token)
        self.api = served_chain(
            self.chain,
            InlineSequencer(self.chain),
            wake=lambda: None,
            fees=self.fees,
            keyring=Keyring([USER]),
        )
        super().__init__(self.api.dispatcher)

    def number(self, method: str, *params: object) -> int:
        return int(self(method, *params), 16)

    def transfer(self, **fields: Any) -> dict[str, Any]:
        """Send a unit, and return the receipt."""
        sent = {"from": str(USER.address), "to": str(BOB), "value": "0x1", **fields}
        return self.receipt(self("eth_sendTransaction", sent))

    def close(self) -> None:
        self.api.close()
        self.chain.close()
