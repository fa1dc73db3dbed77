"""Prices of L1 that the fees of the L2 follow: of its gas, and of ether in the base token."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from entresol._native import keccak256
from entresol.chain.events import BlockSealed, BlocksReverted, ChainEvents
from entresol.chain.fees import FeeModel
from entresol.errors import LayerOneMismatch, LayerOneRejected, LayerOneUnreachable
from entresol.l1.contracts import ZkChain
from entresol.l1.fee_limits import FeeLimits
from entresol.l1.layer_one import L1Block, L1Fees, LayerOne
from entresol.primitives import abi
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.values import Address, Hash32
from entresol.rollup.l1_prices import MAX_BEHIND, POLL_SECONDS, EtherPriceWatcher, GasPriceWatcher
from tests.support.coroutines import completed
from tests.support.played import played
from tests.support.rollup.layer_ones import Embedded
from tests.support.rollup.settlement_scenario import Scenario, embedded, send


class LayerOnePrices:
    """An L1 with a price, or one that does not respond."""

    name = "L1"

    def __init__(self, current: L1Fees | None) -> None:
        self.current = current
        self.lies: list[L1Fees] = []

    async def fees(self) -> L1Fees:
        if self.current is None:
            raise LayerOneUnreachable("L1", "it does not respond")
        return self.lies.pop() if self.lies else self.current

    async def wait_for_block(self, seconds: float) -> None:
        raise NotImplementedError


class ObservedPrices(list[int]):
    """The prices that a fee model was told."""

    def observe(self, gas_price: int) -> None:
        self.append(gas_price)


def watcher_of(
    l1: LayerOnePrices, prices: ObservedPrices, limits: FeeLimits | None = None
) -> GasPriceWatcher:
    return GasPriceWatcher(cast("LayerOne", l1), cast("FeeModel", prices), limits or FeeLimits())


def observed(current: L1Fees | None, limits: FeeLimits | None = None) -> ObservedPrices:
    prices = ObservedPrices()
    watcher = watcher_of(LayerOnePrices(current), prices, limits)
    assert completed(watcher.step()) == POLL_SECONDS
    return prices


def test_the_fees_of_the_l2_follow_the_gas_price_of_l1() -> None:
    assert observed(L1Fees(7, 2)) == [9]


def test_a_price_above_what_the_operator_pays_counts_as_that() -> None:
    assert observed(L1Fees(10**12, 0), FeeLimits(max_fee=1_000)) == [1_000]


def test_one_wrong_price_counts_for_no_block() -> None:
    l1, prices = LayerOnePrices(L1Fees(7, 2)), ObservedPrices()
    watcher = watcher_of(l1, prices)
    for _ in range(2):
        l1.lies = [L1Fees(10**11, 0)]
        completed(watcher.step())
    assert prices == [9, 9]
    l1.current = L1Fees(8, 2)
    completed(watcher.step())
    assert prices == [9, 9, 10]


def test_an_l1_that_does_not_respond_leaves_the_price() -> None:
    assert observed(None) == []


NOMINATOR = keccak256(b"baseTokenGasPriceMultiplierNominator()")[:4]
CHAIN = Address(b"\xcc" * 20)
FIRST_BLOCK = 10


class PricedLayerOne:
    """An L1 whose blocks have a price each, the first of them `FIRST_BLOCK`."""

    name = "L1"

    def __init__(self, *prices: tuple[int, int]) -> None:
        self.prices = list(prices)
        self.fork = 0
        self.takes_hashes = True
        self.is_reachable = True
        self.lies: list[int] = []
        """What the next calls return instead."""
        self.created = FIRST_BLOCK
        """The block from which on the contract exists."""

    async def block_number(self, tag: str) -> int:
        if not self.is_reachable:
            raise LayerOneUnreachable("L1", "it does not respond")
        return FIRST_BLOCK + len(self.prices) - 1 - {"latest": 0, "finalized": 2}[tag]

    async def block(self, number: int) -> L1Block | None:
        if not 0 <= number - FIRST_BLOCK < len(self.prices):
            return None
        block_hash = self._hash(number)
        zero = Hash32.zero()
        return L1Block(
            number=number, hash=block_hash, parent_hash=zero, timestamp=number, base_fee=1
        )

    async def call(self, to: Address, data: bytes, *, block: int | Hash32 | None = None) -> bytes:
        assert to == CHAIN
        if isinstance(block, Hash32):
            if not self.takes_hashes:
                raise LayerOneRejected("eth_call", -32602, "invalid block number")
            numbers = range(FIRST_BLOCK, FIRST_BLOCK + len(self.prices))
            block = next(number for number in numbers if self._hash(number) == block)
        assert block is not None, "both numbers are those of one block"
        if block < self.created:
            return b""
        if self.lies:
            return self.lies.pop().to_bytes(32)
        nominator, denominator = self.prices[block - FIRST_BLOCK]
        return (nominator if data[:4] == NOMINATOR else denominator).to_bytes(32)

    async def code(self, address: Address, block: int | None = None) -> bytes:
        assert address == CHAIN
        return b"" if block is not None and block < self.created else b"code"

    async def wait_for_block(self, seconds: float) -> None:
        raise NotImplementedError

    def _hash(self, number: int) -> Hash32:
        return Hash32(keccak256(b"%d %d" % (self.fork, number)))


class Watched:
    """A fee model that follows an L1."""

    def __init__(self, l1: PricedLayerOne, **settings: Any) -> None:
        self.fees = FeeModel(ether_price=EtherPrice(3000, 1))
        self.repriced = 0
        contract = ZkChain(cast("LayerOne", l1), CHAIN, FIRST_BLOCK)
        self.watcher = EtherPriceWatcher(
            contract, self.fees, on_repriced=self._on_repriced, **settings
        )

    def step(self) -> EtherPrice:
        assert completed(self.watcher.step()) == POLL_SECONDS
        return self.fees.ether_price

    def _on_repriced(self) -> None:
        self.repriced += 1


def test_prices_follow_every_block_of_l1_and_a_change_is_reported_once() -> None:
    l1 = PricedLayerOne((3000, 1))
    it = Watched(l1)
    assert (it.step(), it.repriced) == (EtherPrice(3000, 1), 0)
    for number in range(1, 4):
        l1.prices.append((number, 2**128 - 1))
        assert (it.step(), it.repriced) == (EtherPrice(number, 2**128 - 1), number)
        assert it.fees.current().base_fee == 1


def test_one_wrong_price_counts_for_no_block_of_the_l2() -> None:
    l1 = PricedLayerOne((3000, 1))
    watched = Watched(l1)
    l1.lies = [1]
    assert watched.step() == EtherPrice(3000, 1)
    l1.prices.append((7, 1))
    l1.lies = [10**9]
    assert watched.step() == EtherPrice(7, 1)
    assert watched.repriced == 1


def test_a_price_is_not_confirmed_by_blocks_that_l1_does_not_have() -> None:
    class Ahead(PricedLayerOne):
        async def block_number(self, tag: str) -> int:
            return await super().block_number(tag) + 2

    watched = Watched(Ahead((7, 1)), confirmations=2)
    with pytest.raises(LayerOneMismatch, match="has no block 12 at the moment"):
        watched.step()
    assert watched.fees.ether_price == EtherPrice(3000, 1)


@pytest.mark.parametrize("settings", [{"confirmations": 2}, {"finality": "finalized"}])
def test_a_price_counts_once_its_block_is_confirmed(settings: dict[str, Any]) -> None:
    l1 = PricedLayerOne((1, 1), (1, 1), (1, 1), (2, 1))
    it = Watched(l1, **settings)
    assert it.step() == EtherPrice(1, 1)
    l1.prices += [(2, 1), (2, 1)]
    assert it.step() == EtherPrice(2, 1)


def test_a_chain_younger_than_the_confirmations_has_the_price_of_its_first_block() -> None:
    assert Watched(PricedLayerOne((7, 5)), confirmations=12).step() == EtherPrice(7, 5)


def test_a_contract_that_is_younger_than_the_confirmations_has_its_first_price_until_it_is_confirmed() -> (
    None
):
    l1 = PricedLayerOne((0, 0), (0, 0), (7, 1))
    l1.created = FIRST_BLOCK + 2
    watched = Watched(l1, confirmations=2)
    completed(watched.watcher.refresh())
    assert watched.watcher.problem is None
    assert watched.fees.ether_price == EtherPrice(3000, 1)
    l1.prices += [(7, 1), (7, 1)]
    completed(watched.watcher.refresh())
    assert watched.fees.ether_price == EtherPrice(7, 1)


def test_a_reorg_of_l1_takes_a_price_back() -> None:
    l1 = PricedLayerOne((1, 1), (2, 1))
    it = Watched(l1)
    assert it.step() == EtherPrice(2, 1)
    l1.fork, l1.prices[1] = 1, (1, 1)
    assert it.step() == EtherPrice(1, 1)


def test_prices_do_not_go_back_and_forth_with_nodes_that_lag() -> None:
    l1 = PricedLayerOne((1, 1), (2, 1))
    it = Watched(l1)
    assert it.step() == EtherPrice(2, 1)
    for _ in range(MAX_BEHIND + 1):
        (ahead,) = l1.prices[1:]
        del l1.prices[1:]
        assert it.step() == EtherPrice(2, 1)
        l1.prices.append(ahead)
        assert it.step() == EtherPrice(2, 1)
    assert it.repriced == 1


def test_an_l1_that_stays_behind_was_reverted() -> None:
    l1 = PricedLayerOne((1, 1), (2, 1))
    it = Watched(l1)
    it.step()
    del l1.prices[1:]
    assert {it.step() for _ in range(MAX_BEHIND)} == {EtherPrice(2, 1)}
    assert it.step() == EtherPrice(1, 1)


def test_an_l1_that_is_shorter_and_has_another_block_counts_at_once() -> None:
    l1 = PricedLayerOne((1, 1), (1, 1), (2, 1))
    it = Watched(l1, confirmations=1)
    l1.prices.append((2, 1))
    assert it.step() == EtherPrice(2, 1)
    del l1.prices[3:]
    l1.fork, l1.prices[2] = 1, (1, 1)
    assert it.step() == EtherPrice(1, 1)


def test_a_node_that_takes_no_hashes_is_asked_by_number() -> None:
    l1 = PricedLayerOne((7, 5))
    l1.takes_hashes = False
    assert Watched(l1).step() == EtherPrice(7, 5)


@pytest.mark.parametrize(
    ("lie", "problem"),
    [
        ((0, 1), "the nominator is from 1 to"),
        ((1, 0), "the denominator is from 1 to"),
        ((2**128, 1), "the nominator is from 1 to"),
        ((1, 2**256 - 1), "the denominator is from 1 to"),
        ((2**128 - 1, 1), "a block holds at most 2^64 - 1; prices stay those of 3000 / 1"),
    ],
)
def test_a_price_that_cannot_be_is_reported_and_the_last_one_stays_until_there_is_a_possible_one(
    lie: tuple[int, int], problem: str
) -> None:
    l1 = PricedLayerOne(lie)
    it = Watched(l1)
    with pytest.raises(LayerOneMismatch) as caught:
        it.step()
    assert problem in str(caught.value)
    completed(it.watcher.refresh())
    assert problem in (it.watcher.problem or "")
    assert it.fees.ether_price == EtherPrice(3000, 1)
    l1.prices.append((5, 1))
    completed(it.watcher.refresh())
    assert (it.watcher.problem, it.fees.ether_price) == (None, EtherPrice(5, 1))


def test_an_l1_that_does_not_respond_or_lacks_its_block_leaves_the_price() -> None:
    l1 = PricedLayerOne((1, 1))
    it = Watched(l1)
    l1.is_reachable = False
    completed(it.watcher.refresh())
    assert it.watcher.problem is not None
    l1.is_reachable, l1.prices = True, []
    completed(it.watcher.refresh())
    assert "has no block 10 at the moment" in (it.watcher.problem or "")
    assert it.fees.ether_price == EtherPrice(3000, 1)


@played(embedded)
async def test_a_price_of_an_l1_in_this_process_counts_before_its_block_is_known_elsewhere(
    scenario: Scenario,
) -> None:
    contract, fees = scenario.contracts.chain, FeeModel(ether_price=EtherPrice(3000, 1))
    assert isinstance(scenario.layer_one, Embedded)
    chain, known = scenario.layer_one.chain, list[EtherPrice]()
    EtherPriceWatcher(contract, fees).listen(chain.events)
    chain.events.listen(lambda _event: known.append(fees.ether_price), BlockSealed)
    scenario.layer_one.mine()
    for tokens in (7, 5):
        before = scenario.layer_one.checkpoint()
        call = abi.encode_call("setTokenMultiplier(uint128,uint128)", tokens, 1)
        await send(scenario.l1, scenario.contracts.owner, contract.address, call)
    assert known == [EtherPrice(3000, 1), EtherPrice(7, 1), EtherPrice(5, 1)]
    scenario.layer_one.restore(before)
    assert fees.ether_price == EtherPrice(7, 1)


class SuspendingLayerOne(PricedLayerOne):
    """An L1 that responds over a connection."""

    async def block_number(self, tag: str) -> int:
        await asyncio.sleep(0)
        return await super().block_number(tag)


async def test_an_l1_outside_of_this_process_is_not_read_at_once() -> None:
    watched, events = Watched(SuspendingLayerOne((7, 1))), ChainEvents()
    watched.watcher.listen(events)
    with pytest.raises(RuntimeError, match="L1 is not in this process"):
        events.publish(BlocksReverted((), 0))
    assert watched.fees.ether_price == EtherPrice(3000, 1)
