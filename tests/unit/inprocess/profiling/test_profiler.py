"""A devnet that counts what its contracts do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from web3 import Web3

import entresol
from entresol import Devnet
from entresol.errors import MethodFailed
from entresol.features.debugger.sources.profile.report import FunctionGas, GasReport
from entresol.features.debugger.sources.profile.totals import ProfileTotals
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.inprocess.profiling import profiler
from entresol.primitives.abi import selector as selector_of
from entresol.primitives.values import Address
from tests.support.contracts.shop import OUTPUT, ShopRun

SOURCES = SourceRegistry.of_paths([str(OUTPUT)])


def selector(signature: str) -> str:
    return f"0x{selector_of(signature).hex()}"


@pytest.fixture(scope="module")
def net() -> Iterator[Devnet]:
    with entresol.devnet(l1=False) as running:
        running.profile()
        yield running


@pytest.fixture(scope="module")
def shop(net: Devnet) -> ShopRun:
    return ShopRun(net.l2.request)


@pytest.fixture(autouse=True)
def _empty(net: Devnet, shop: ShopRun) -> None:  # noqa: ARG001 - its deployments are counted, too
    net.profile().totals = ProfileTotals()


def counted(net: Devnet, name: str) -> FunctionGas | None:
    report = GasReport.of(net.profile().totals, SOURCES)
    functions = (function for contract in report.contracts for function in contract.functions)
    return next((function for function in functions if function.name == name), None)


def test_sealed_transactions_are_counted_with_the_gas_of_their_receipts(
    net: Devnet, shop: ShopRun
) -> None:
    receipt = shop.send(shop.shop, "add(uint256)", 1)
    found = counted(net, "add(uint256)")
    assert found is not None
    assert found.succeeded.distinct == {int(receipt["gasUsed"], 16): 1}


def test_calls_are_counted_also_in_batches_and_with_overrides(net: Devnet, shop: ShopRun) -> None:
    account = Address.parse(shop.sender)
    shop.call(shop.shop, "bought(address)", account)
    w3 = net.l2.w3
    with w3.batch_requests() as batch:
        data = selector("tax()")
        batch.add(w3.eth.call({"to": Web3.to_checksum_address(shop.shop), "data": data}))  # type: ignore[typeddict-item]
        batch.execute()
    code = net.l2.request("eth_getCode", shop.shop, "latest")
    call = {"to": "0x" + "77" * 20, "data": selector("tax()")}
    net.l2.request("eth_call", call, "latest", {call["to"]: {"code": code}})
    assert net.profile().totals.executions == 3
    found = counted(net, "bought")
    assert found is not None
    assert found.calls == 1


def test_an_estimate_is_counted_only_if_it_fails(net: Devnet, shop: ShopRun) -> None:
    estimate = {"from": shop.sender, "to": shop.shop, "data": selector("add(uint256)") + "00" * 32}
    net.l2.request("eth_estimateGas", estimate)
    assert net.profile().totals.executions == 0
    with pytest.raises(MethodFailed):
        net.l2.request("eth_estimateGas", {**estimate, "value": "0x1"})
    found = counted(net, "add(uint256)")
    assert found is not None
    assert (found.succeeded.count, found.failed.count) == (0, 1)


def test_a_call_that_never_ends_is_left_out(net: Devnet, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = profiler.LIMITS
    monkeypatch.setattr(profiler, "LIMITS", type(limits)(seconds=0.01))
    loop = {"0x" + "77" * 20: {"code": "0x5b5f56"}}
    with pytest.raises(MethodFailed):
        net.l2.request("eth_call", {"to": "0x" + "77" * 20}, "latest", loop)
    totals = net.profile().totals
    assert (totals.executions, totals.left_out) == (0, 1)


def test_devnets_may_share_a_profiler(net: Devnet) -> None:
    other = entresol.devnet(l1=False)
    assert other.profile(net.profile()) is net.profile()
    with other:
        ShopRun(other.l2.request)
    assert net.profile().totals.executions == 4
