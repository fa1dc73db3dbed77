"""Gas reports, beside forge's of the same transactions."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from entresol.execution.profile import CodeProfile, FrameProfile, Profile
from entresol.features.debugger.sources.profile.amounts import Amounts
from entresol.features.debugger.sources.profile.report import ContractGas, FunctionGas, GasReport
from entresol.features.debugger.sources.profile.totals import ProfileTotals
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.primitives.abi import selector
from tests.support.contracts.shop import FILE, forge_report

UNKNOWN = SourceRegistry()


@pytest.fixture
def report(totals: ProfileTotals, sources: SourceRegistry) -> GasReport:
    return GasReport.of(totals, sources)


def named(report: GasReport, name: str) -> ContractGas:
    return next(contract for contract in report.contracts if contract.name == name)


def function(contract: ContractGas, name: str, caller: str | None = None) -> FunctionGas:
    return next(it for it in contract.functions if (it.name, it.caller) == (name, caller))


@pytest.mark.parametrize("contract", ["Factory", "Prices", "Proxy", "Shop"])
def test_the_gas_of_functions_is_forges(report: GasReport, contract: str) -> None:
    for signature, expected in forge_report()[contract]["functions"].items():
        # The purchase that failed has asked for the price, too.
        calls = expected["calls"] + (contract == "Prices")
        assert figures(named(report, contract), signature) == {**expected, "calls": calls}


@pytest.mark.parametrize("contract", ["Factory", "Proxy", "Shop"])
def test_the_gas_of_deployments_is_forges(report: GasReport, contract: str) -> None:
    deployed = named(report, contract).deployments.shown
    assert deployed.median == forge_report()[contract]["deployment"]["gas"]


def selector_of(signature: str) -> str:
    return f"0x{selector(signature).hex()}"


def proxy_of(report: GasReport) -> ContractGas:
    """Return the only other contract that `add` was called of."""
    name = selector_of("add(uint256)")
    callers = (it.caller for at in report.contracts for it in at.functions if it.name == name)
    return named(report, next(caller for caller in callers if caller is not None))


def figures(contract: ContractGas, signature: str) -> Mapping[str, int]:
    """Return the figures as forge has them, which tells nobody's callers apart."""
    name, amounts = signature.partition("(")[0], Amounts()
    for it in contract.functions:
        if it.name == signature or it.name.strip("<>") == name:
            amounts.merge(it.succeeded)
    return {
        "calls": amounts.count,
        "min": amounts.least,
        "mean": int(amounts.total / amounts.count),
        "median": amounts.median,
        "max": amounts.most,
    }


def test_a_function_in_the_account_of_a_proxy_is_told_from_its_own_calls(report: GasReport) -> None:
    shop = named(report, "Shop")
    assert function(shop, "add(uint256)", "Proxy").calls == 1
    assert function(shop, "add(uint256)").calls == 2
    assert function(named(report, "Proxy"), "<fallback>").calls == 2
    assert function(named(report, "Prices"), "withTax", "Shop").calls == 4


def test_calls_that_failed_are_counted_apart(report: GasReport) -> None:
    buy = function(named(report, "Shop"), "buy")
    assert (buy.calls, buy.succeeded.count, buy.failed.count) == (4, 3, 1)
    assert buy.shown is buy.succeeded


def test_contracts_that_contracts_create_are_one_with_what_calls_them(report: GasReport) -> None:
    small = named(report, "Small")
    assert (small.file, small.deployments.calls, small.size) == (FILE, 2, 294)
    assert len(small.addresses) == 2
    assert function(small, "set", "contracts").calls == 2


def test_a_contract_without_a_source_has_its_address_and_selectors(totals: ProfileTotals) -> None:
    report = GasReport.of(totals, UNKNOWN)
    names = {
        selector_of("add(uint256)"),
        selector_of("add(uint256,uint256)"),
        selector_of("buy(uint256)"),
    }
    shop = next(
        contract for contract in report.contracts if {f.name for f in contract.functions} == names
    )
    assert (shop.file, shop.name) == (None, shop.addresses[0])
    assert (shop.deployments.calls, shop.calls) == (1, 9)
    assert {it.caller for it in shop.functions} == {None, proxy_of(report).name}


def test_pages_are_merged_to_the_report_of_all(
    totals: ProfileTotals, sources: SourceRegistry
) -> None:
    pages, whole = GasReport(), GasReport.of(totals, sources)
    for _ in range(2):
        pages.merge(GasReport.of(totals, sources))
    assert [contract.key for contract in pages.contracts] == [
        contract.key for contract in whole.contracts
    ]
    assert named(pages, "Shop").calls == 2 * named(whole, "Shop").calls
    assert pages.executions == 2 * whole.executions
    decoded = msgspec.json.decode(msgspec.json.encode(pages), type=GasReport)
    assert decoded == pages


def test_ten_thousand_contracts_of_the_same_code_are_one(sources: SourceRegistry) -> None:
    totals = ProfileTotals()
    for number in range(10_000):
        code = CodeProfile("0x01", "0x00", False, [f"{number:#042x}"], [(0, 1, 0)], [], [])
        frame = FrameProfile(0, "CALL", "0x", None, True, False, 0, [(0, 1)])
        totals.add(Profile([code], [frame]), 21_000)
    (contract,) = GasReport.of(totals, sources).contracts
    assert (contract.calls, len(contract.addresses)) == (10_000, 8)
