"""What an L2 says about its prices over JSON-RPC, at the cheapest and the dearest ether that a block can hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.chain.fees import LARGEST_BASE_FEE
from entresol.dev.keyring import Keyring
from entresol.node.api.api import Api
from entresol.node.config.schema import ChainConfig, NodeConfig
from entresol.node.opening.layer_two import open_layer_two
from entresol.node.settlement.l2_components import L2Components
from entresol.primitives.base_token import BaseToken, EtherPrice
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import BOB, NOBODY, priority_transaction
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rpc_client import DispatcherClient

LARGEST = 2**128 - 1
TOKEN = Address(b"\x33" * 20)
USER = ACCOUNTS[0]


class PricedChain(DispatcherClient):
    """An L2 that is paid in a token, and its methods."""

    def __init__(self, price: EtherPrice) -> None:
        config = NodeConfig(chain=ChainConfig(balance=10**12, accounts=1))
        token = BaseToken(l1_address=TOKEN, ether_price=price)
        self.chain, self.fees = open_layer_two(config, None, None, base_token=token)
        self.api = Api(
            self.chain,
            InlineSequencer(self.chain),
            wake=lambda: None,
            layer_two=L2Components(self.fees, None),
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


@pytest.fixture(
    params=[
        EtherPrice(1, LARGEST),
        EtherPrice(3, 10**15),
        EtherPrice(3, 10**9),
        EtherPrice(3000, 1),
        EtherPrice(LARGEST_BASE_FEE, 10**8),
    ],
    ids=["cheapest", "no decimals", "six decimals", "3000", "dearest"],
)
def chain(request: pytest.FixtureRequest) -> Iterator[PricedChain]:
    """Open an L2, at each price if the test does not choose some."""
    opened = PricedChain(request.param)
    yield opened
    opened.close()


only_dearest = pytest.mark.parametrize(
    "chain", [EtherPrice(LARGEST_BASE_FEE, 10**8)], indirect=True, ids=["dearest"]
)


def test_every_quote_is_what_the_next_block_takes_and_what_it_takes_is_paid(
    chain: PricedChain,
) -> None:
    expected = max(math.ceil(chain.fees.ether_price.units(10**8)), 1)
    call = {"from": str(USER.address), "to": str(BOB)}
    assert chain.number("eth_gasPrice") == expected
    assert chain.number("eth_maxPriorityFeePerGas") == 0
    fee = chain("zks_estimateFee", call)
    assert int(fee["max_fee_per_gas"], 16) == expected
    filled = chain("eth_fillTransaction", call)["tx"]
    assert int(filled["maxFeePerGas"], 16) == 2 * expected
    before = chain.number("eth_getBalance", str(USER.address), "latest")
    for fields in ({}, {"gasPrice": hex(expected)}, {"maxFeePerGas": fee["max_fee_per_gas"]}):
        receipt = chain.transfer(**fields)
        assert int(receipt["effectiveGasPrice"], 16) == expected
    after = chain.number("eth_getBalance", str(USER.address), "latest")
    assert before - after == 3 * (21_000 * expected + 1)
    block = chain("eth_getBlockByNumber", "latest", True)
    assert int(block["baseFeePerGas"], 16) == expected
    history = chain("eth_feeHistory", "0x4", "latest", [50])
    assert {int(it, 16) for it in history["baseFeePerGas"]} == {expected}
    assert chain.number("eth_estimateGas", call) == 21_000
    assert chain.number("zks_estimateGasL1ToL2", call) > 21_000
    assert 1 <= chain.number("zks_gasPerPubdata") <= 50_000


@only_dearest
def test_requests_at_any_price_that_l1_can_ask_are_included_and_shown(chain: PricedChain) -> None:
    for number, price in enumerate((2**64, 2**127, 2**128 - 1, 2**128, 2**200)):
        request = priority_transaction(number, sender=NOBODY, to=BOB, value=5, fee=price)
        sent = str(chain.chain.enqueue(request))
        chain.chain.builder.seal()
        succeeds = price < 2**128
        receipt, transaction = chain.receipt(sent), chain("eth_getTransactionByHash", sent)
        assert receipt["status"] == ("0x1" if succeeds else "0x0")
        assert int(transaction["maxFeePerGas"], 16) == price
        for method, params in {
            "eth_getBlockByNumber": ("latest", True),
            "eth_getBlockReceipts": ("latest",),
            "eth_feeHistory": ("0x1", "latest", [50]),
            "debug_traceTransaction": (sent,),
            "ots_getBlockTransactions": (number + 1, 0, 10),
        }.items():
            assert chain(method, *params) is not None
    assert chain.transfer()["status"] == "0x1", "the chain goes on"


@only_dearest
def test_what_waits_in_the_pool_follows_the_price_as_any_base_fee(chain: PricedChain) -> None:
    chain("evm_setAutomine", False)
    cheap, dear = EtherPrice(1, 1), EtherPrice(2, 1)
    chain.fees.set_ether_price(cheap)
    sent = chain(
        "eth_sendTransaction", {"from": str(USER.address), "to": str(BOB), "gasPrice": hex(10**8)}
    )
    chain.fees.set_ether_price(dear)
    chain("evm_mine")
    assert chain("eth_getTransactionReceipt", sent) is None
    assert int(chain("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16) == 2 * 10**8
    chain.fees.set_ether_price(cheap)
    chain("evm_mine")
    assert chain.receipt(sent)["status"] == "0x1"
