from __future__ import annotations

from entresol.errors import LayerOneUnreachable
from entresol.l1.fee_limits import FeeLimits
from entresol.l1.layer_one import L1Fees
from entresol.rollup.gas_price import POLL_SECONDS, GasPriceWatcher
from tests.support.coroutines import completed


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


def observed(current: L1Fees | None, limits: FeeLimits | None = None) -> ObservedPrices:
    prices = ObservedPrices()
    watcher = GasPriceWatcher(LayerOnePrices(current), prices, limits or FeeLimits())
    assert completed(watcher.step()) == POLL_SECONDS
    return prices


def test_the_fees_of_the_l2_follow_the_gas_price_of_l1() -> None:
    assert observed(L1Fees(7, 2)) == [9]


def test_a_price_above_what_the_operator_pays_counts_as_that() -> None:
    assert observed(L1Fees(10**12, 0), FeeLimits(max_fee=1_000)) == [1_000]


def test_one_wrong_price_counts_for_no_block() -> None:
    l1, prices = LayerOnePrices(L1Fees(7, 2)), ObservedPrices()
    watcher = GasPriceWatcher(l1, prices, FeeLimits())
    for _ in range(2):
        l1.lies = [L1Fees(10**11, 0)]
        completed(watcher.step())
    assert prices == [9, 9]
    l1.current = L1Fees(8, 2)
    completed(watcher.step())
    assert prices == [9, 9, 10]


def test_an_l1_that_does_not_respond_leaves_the_price() -> None:
    assert observed(None) == []
