"""Prices of an L2 that is paid in a token of six decimals: as L1 has them, in every process, while they change."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from entresol._native import keccak256
from entresol.node.config.schema import ChainConfig, EcosystemConfig, L1Config, NodeConfig
from entresol.node.open_node import open_node
from entresol.node.opening.development_keys import OPERATOR
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.interop_bundles import INTEROP_CENTER
from entresol.primitives.values import Address
from entresol.server.config import ServerConfig
from tests.support.contracts.engine import Contract, find
from tests.support.node_process import running_node
from tests.support.polling import eventually
from tests.support.rollup.pair import CHAIN_ID, GAS_LIMIT, GAS_PER_PUBDATA, RECEIVER, USER, Pair
from tests.support.rpc_client import RpcClient, RpcError, health_of
from tests.support.workers import clients_of

GAS_PRICE = 10**8
INTEROP_FEES = {1_500_000_000: 1_500_000_000, "1/3": 1}
FLAGS = (
    *("--base-token", "USD", "--base-token-decimals", "6", "--base-token-ratio", "3000000000"),
    *("--balance", "1000000000000"),
)
"""So many tokens for an ether that units do not round everything to one."""
FIRST = EtherPrice(3, 1000)


class Priced:
    """A node with a base token, and clients of its processes."""

    def __init__(self, pair: Pair, token: Address, processes: list[RpcClient], url: str) -> None:
        self.pair = pair
        self.token = Contract(token, find("TestERC20"))
        self.processes = processes
        self.url = url

    def prices(self) -> set[int]:
        """Return what gas costs, as L1 and each process of the L2 say it: one number if they agree."""
        on_l1 = self.pair.call_l1(
            self.pair.bridgehub, "l2TransactionBaseCost", CHAIN_ID, 0, 1, GAS_PER_PUBDATA
        )
        on_l2 = {int(process("eth_gasPrice"), 16) for process in self.processes}
        on_l2 |= {
            process("zks_getBatchFeeInput")["fair_l2_gas_price"] for process in self.processes
        }
        return {int(on_l1), *on_l2}

    def ratios(self) -> list[tuple[int, int]]:
        """Return the fraction that each process names."""
        found = [
            process("zks_getFeeParams")["V2"]["conversion_ratio"] for process in self.processes
        ]
        return [(params["numerator"], params["denominator"]) for params in found]

    def charges(self, fee: int) -> bool:
        """Return whether a call to another chain costs so much."""
        selector = "0x" + keccak256(b"interopProtocolFee()")[:4].hex()
        call = {"to": str(INTEROP_CENTER), "data": selector}
        return int(self.processes[0]("eth_call", call, "latest"), 16) == fee

    def set_on_l1(self, nominator: int, denominator: int) -> None:
        """Change the price of ether as the admin of the chain, past the node."""
        l1 = self.pair.l1
        l1("anvil_impersonateAccount", str(OPERATOR.address))
        sent = self.pair.send_l1(
            *(self.pair.chain, "setTokenMultiplier", nominator, denominator),
            sender=OPERATOR.address,
        )
        assert l1.receipt(sent)["status"] == "0x1"

    def deposit(self) -> tuple[str, int]:
        """Deposit a unit, and return the transaction on L1 and the price of its gas."""
        pair = self.pair
        l1_price = pair.l1("eth_gasPrice")
        cost = pair.call_l1(
            *(pair.bridgehub, "l2TransactionBaseCost", CHAIN_ID),
            *(int(l1_price, 16), GAS_LIMIT, GAS_PER_PUBDATA),
        )
        for call in (("mint", USER), ("approve", pair.asset_router.address)):
            pair.l1.receipt(pair.send_l1(self.token, *call, cost + 1))
        request = (CHAIN_ID, cost + 1, RECEIVER, 1, b"", GAS_LIMIT, GAS_PER_PUBDATA, (), USER)
        sent = pair.send_l1(
            pair.bridgehub, "requestL2TransactionDirect", request, gas_price=l1_price
        )
        return sent, cost // GAS_LIMIT

    def arrived_at(self, deposit: str) -> int:
        """Return the price of a deposit's gas on L2, once it is there."""
        receipt = self.pair.arrived(deposit)
        assert receipt["status"] == "0x1"
        return int(receipt["effectiveGasPrice"], 16)

    def base_fee(self) -> int:
        """Send something, and return the base fee of its block."""
        l2 = self.pair.l2
        sent = l2("eth_sendTransaction", {"from": str(USER), "to": str(RECEIVER), "value": "0x1"})
        receipt = l2.receipt(sent)
        block = l2("eth_getBlockByNumber", receipt["blockNumber"], False)
        base_fee = int(block["baseFeePerGas"], 16)
        assert int(receipt["effectiveGasPrice"], 16) == base_fee
        details = l2("zks_getBlockDetails", int(receipt["blockNumber"], 16))
        assert details["l2FairGasPrice"] == base_fee
        assert 10**8 < details["l1GasPrice"] < 10**10, "wei, whatever ether costs"
        assert 1 <= details["fairPubdataPrice"] <= 50_000 * base_fee
        return base_fee


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Priced]:
    """Return one node of two processes for all tests; each begins with the price that it sets."""
    info = tmp_path_factory.mktemp("priced") / "info.json"
    with running_node("--config-out", str(info), "--workers", "2", *FLAGS, info=info) as node:
        known = json.loads(info.read_text(encoding="utf-8"))
        token = Address.parse(known["base_token"]["l1_address"])
        pair = Pair.connect(info)
        with clients_of(node) as processes, contextlib.closing(pair):
            yield Priced(pair, token, list(processes), node.url)


def test_a_new_ratio_changes_every_price_on_both_layers_and_in_every_process(
    priced: Priced,
) -> None:
    priced.set_on_l1(FIRST.nominator, FIRST.denominator)
    assert priced.prices() == {FIRST.units(GAS_PRICE)}
    earlier, price = priced.deposit()
    assert priced.arrived_at(earlier) == price > FIRST.units(GAS_PRICE)
    for process, (ratio, price_after) in zip(
        priced.processes, ((1_500_000_000, 150_000), ("1/3", 1)), strict=True
    ):
        sent = process("entresol_setBaseTokenRatio", ratio)
        (event,) = priced.pair.l1.receipt(sent)["logs"]
        assert event["address"] == str(priced.pair.chain.address)
        assert priced.prices() == {price_after}
        assert priced.base_fee() == price_after
        # What a call to another chain costs follows by a request of L1.
        expected = INTEROP_FEES[ratio]
        eventually(partial(priced.charges, expected))
    assert priced.ratios() == [(1, 3 * 10**12)] * 2
    later, price_later = priced.deposit()
    assert priced.arrived_at(later) == price_later < price
    assert priced.arrived_at(earlier) == price, "a request keeps the price it was made with"


def test_what_brings_back_an_earlier_l1_brings_back_its_prices(priced: Priced) -> None:
    priced.set_on_l1(7, 1)
    snapshot = priced.pair.l2("evm_snapshot")
    dump = priced.pair.l2("anvil_dumpState")
    priced.set_on_l1(9, 1)
    assert priced.prices() == {9 * GAS_PRICE}
    assert priced.pair.l2("evm_revert", snapshot)
    assert priced.prices() == {7 * GAS_PRICE}
    priced.set_on_l1(11, 1)
    assert priced.pair.l2("anvil_loadState", dump)
    assert priced.prices() == {7 * GAS_PRICE}
    assert priced.base_fee() == 7 * GAS_PRICE


def test_a_price_on_l1_that_no_block_can_hold_is_reported_and_the_last_one_stays(
    priced: Priced,
) -> None:
    priced.set_on_l1(7, 1)
    priced.set_on_l1(2**128 - 1, 1)
    problem = eventually(lambda: health_of(priced.url)[1].get("etherPrice"))
    assert "prices stay those of 7 / 1" in problem
    assert priced.ratios() == [(7, 1)] * 2
    assert priced.base_fee() == 7 * GAS_PRICE
    priced.set_on_l1(5, 1)
    assert priced.prices() == {5 * GAS_PRICE}
    eventually(lambda: health_of(priced.url)[1].get("etherPrice") is None)


def test_transactions_wait_while_gas_is_dearer_than_they_pay(priced: Priced) -> None:
    priced.set_on_l1(7, 1)
    l2 = priced.pair.l2
    l2("evm_setAutomine", False)
    fees = {"maxFeePerGas": hex(7 * GAS_PRICE), "maxPriorityFeePerGas": "0x0"}
    call = {"from": str(USER), "to": str(RECEIVER), **fees}
    waiting = l2("eth_sendTransaction", call)
    priced.set_on_l1(8, 1)
    l2("evm_setAutomine", True)
    with pytest.raises(RpcError, match="base fee"):
        l2("eth_sendTransaction", call)
    l2("evm_mine")
    assert l2("eth_getTransactionReceipt", waiting) is None
    priced.set_on_l1(6, 1)
    assert l2.receipt(waiting)["effectiveGasPrice"] == hex(6 * GAS_PRICE)


def test_each_chain_has_a_price_of_its_own_and_a_restart_has_that_of_l1_not_of_the_flags(
    tmp_path: Path,
) -> None:
    config = NodeConfig(
        ecosystem=EcosystemConfig(chains=("2",)),
        chain=ChainConfig(
            base_token="GOLD",  # noqa: S106 - a symbol
            base_token_ratio=3,
            data_dir=str(tmp_path / "node"),
        ),
        l1=L1Config(l1_port=0),
        server=ServerConfig(port=0),
    )

    async def play() -> None:
        node = await open_node(config)
        await node.start()
        assert [layer_two.chain.next_base_fee() for layer_two in node.layer_twos] == [
            3 * GAS_PRICE
        ] * 2
        await node.rollups[1].set_ratio(Fraction(5, 2))
        assert [layer_two.chain.next_base_fee() for layer_two in node.layer_twos] == [
            300_000_000,
            250_000_000,
        ]
        await node.stop()
        node = await open_node(config)
        assert [layer_two.chain.next_base_fee() for layer_two in node.layer_twos] == [
            300_000_000,
            250_000_000,
        ]
        await node.start()
        prices = [info.base_token.ether_price for info in (node.info(), *node.info().others)]
        assert prices == [EtherPrice(3, 1), EtherPrice(5, 2)]
        await node.stop()

    asyncio.run(play())
