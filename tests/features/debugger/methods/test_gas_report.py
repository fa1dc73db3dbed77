"""`entresol_getGasReport`: the gas of contracts in sealed blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.features.debugger import gas_reports
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.contracts.shop import FILE, OUTPUT, ShopRun, forge_report
from tests.support.rpc_client import RpcError


@pytest.fixture(scope="module")
def api() -> Iterator[ApiClient]:
    with running_api() as client:
        compiled = json.loads(OUTPUT.read_bytes())
        client("hardhat_addCompilationResult", "0.8.26", compiled["input"], compiled["output"])
        ShopRun(client).run()
        yield client


def contract(page: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        contract for contract in page["contracts"] if contract["name"] == name
    )
    return found


def calls(page: dict[str, Any]) -> int:
    return sum(
        f["succeeded"]["count"] for contract in page["contracts"] for f in contract["functions"]
    )


def test_functions_have_forges_gas(api: ApiClient) -> None:
    page = api("entresol_getGasReport", "earliest")
    (build,) = contract(page, "Factory")["functions"]
    forge = forge_report()["Factory"]["functions"]["build(bytes32)"]
    found = build["succeeded"]
    assert (build["name"], build["caller"]) == ("build", None)
    assert [found[figure] for figure in ("count", "min", "median", "max")] == [
        forge[figure] for figure in ("calls", "min", "median", "max")
    ]
    assert (page["next"], page["leftOut"], page["executions"]) == (None, 0, 14)


def test_a_contract_has_its_deployments(api: ApiClient) -> None:
    page = api("entresol_getGasReport", "0x0", "latest")
    shop = contract(page, "Shop")
    assert (shop["file"], shop["size"], len(shop["addresses"])) == (FILE, 1_682, 1)
    assert shop["deployments"]["succeeded"]["total"] == forge_report()["Shop"]["deployment"]["gas"]


def test_lines_of_a_source_are_returned_if_it_is_named(api: ApiClient) -> None:
    assert api("entresol_getGasReport", "0x1")["sources"] == []
    (source,) = api("entresol_getGasReport", "0x1", "latest", "Shop.sol")["sources"]
    number = source["text"].splitlines().index("        made.set(1);") + 1
    line = next(line for line in source["lines"] if line["line"] == number)
    assert (line["executions"], line["callGas"]) == (2, 2 * 22_492)
    assert api("entresol_getGasReport", "0x1", "latest", "Else.sol")["sources"] == []


def test_blocks_are_those_of_the_range(api: ApiClient) -> None:
    whole = api("entresol_getGasReport", "0x1")
    parts = [
        api("entresol_getGasReport", *blocks) for blocks in (("0x1", "0x7"), ("0x8", "latest"))
    ]
    assert calls(whole) == sum(map(calls, parts))


def test_a_page_ends_in_time_and_the_next_goes_on(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = api("entresol_getGasReport", "0x1")
    monkeypatch.setattr(gas_reports, "MAX_BLOCKS", 4)
    found, start = 0, "0x1"
    while start:
        page = api("entresol_getGasReport", start)
        found, start = found + calls(page), page["next"]
    assert found == calls(whole)


def test_a_page_without_time_has_a_block_and_says_what_is_left_out(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gas_reports, "MAX_SECONDS", -1.0)
    page = api("entresol_getGasReport", "0x1")
    assert page["next"] == "0x2"
    assert page["executions"] + page["leftOut"] == 1


def test_a_transaction_that_takes_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gas_reports, "MAX_SECONDS", 0.02)
    with running_api() as client:
        client("anvil_setCode", "0x" + "77" * 20, "0x5b5f56")
        sender = client("eth_accounts")[0]
        endless = {"from": sender, "to": "0x" + "77" * 20, "gas": "0x1000000"}
        client("eth_sendTransaction", endless)
        client("eth_sendTransaction", {"from": sender, "to": sender})
        page = client("entresol_getGasReport", "0x1")
        assert (page["executions"], page["leftOut"], page["next"]) == (0, 1, "0x2")
        rest = client("entresol_getGasReport", page["next"])
        assert (rest["executions"], rest["leftOut"], rest["next"]) == (1, 0, None)


def test_contracts_of_unknown_sources_are_shown_by_address_and_selector() -> None:
    with running_api() as client:
        run = ShopRun(client)
        run.send(run.shop, "add(uint256)", 1)
        page = client("entresol_getGasReport", "latest")
    (found,) = page["contracts"]
    assert (found["name"], found["file"]) == (run.shop, None)
    assert [function["name"] for function in found["functions"]] == ["0x1003e2d2"]


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        (["0x2", "0x1"], "before block 2"),
        (["pending"], "pending"),
        (["0xffff"], "not found"),
        (["0x1", "latest", ""], "from 1 to 1000 characters"),
        (["0x1", "latest", "x" * 1_001], "from 1 to 1000 characters"),
        ([], "fromBlock"),
    ],
)
def test_what_cannot_be_reported_is_rejected(
    api: ApiClient, params: list[str], problem: str
) -> None:
    with pytest.raises(RpcError, match=problem):
        api("entresol_getGasReport", *params)
