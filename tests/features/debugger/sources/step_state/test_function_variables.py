"""Variables of functions at their lines, beside the source of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chain.api_client import ApiClient, running_api
from tests.support.features.debugger.debugged_contracts import DebuggedContract

ALICE = bytes(19) + b"A"
ALICES = "0x0000000000000000000000000000000000000041"


@pytest.fixture(scope="module")
def client() -> Iterator[ApiClient]:
    with running_api() as api:
        yield api


@pytest.fixture(scope="module")
def contract(client: ApiClient) -> DebuggedContract:
    return DebuggedContract(client)


def values(state: dict[str, Any]) -> dict[str, str | None]:
    for it in state["variables"]:
        assert it["isCertain"] == (it["value"] is not None)
    return {it["name"]: it["value"] for it in state["variables"]}


def test_parameters_results_and_local_variables_have_their_values(
    contract: DebuggedContract,
) -> None:
    sent = contract.send("locals(int8,bool,bytes3)", -3, True, b"abc")
    parameters = {"small": "-3", "flag": "true", "tag": "0x616263"}
    before = contract.state_at_line(sent, "uint256 first = 11")
    assert values(before) == {**parameters, "result": "0"}
    after = contract.state_at_line(sent, "result = Sums.add")
    assert values(after) == {
        **parameters,
        "result": "43990",
        "first": "11",
        "second": "-5",
        "third": "0x01020304",
        "fourth": "12",
        "fifth": "false",
    }
    kinds = {it["name"]: it["kind"] for it in after["variables"]}
    assert [kinds[it] for it in ("flag", "result", "fifth")] == ["parameter", "result", "local"]


def test_a_variable_of_a_block_is_there_while_the_block_is_open(contract: DebuggedContract) -> None:
    sent = contract.send("locals(int8,bool,bytes3)", 1, True, b"abc")
    inside = values(contract.state_at_line(sent, "result = uint160(inner)"))
    assert inside["inner"] == "0x000000000000000000000000000000000000ABcD"
    assert "inner" not in values(contract.state_at_line(sent, "bytes4 third ="))


def test_strings_and_arrays_are_read_from_call_data_and_memory(contract: DebuggedContract) -> None:
    sent = contract.send("open(address,uint256,string,uint256[])", ALICE, 7, "Älice", [3, 4])
    found = values(contract.state_at_line(sent, "account.history.push", last=True))
    storage = found.pop("account")
    assert storage is not None
    assert storage.startswith("slot 0x")
    assert found == {
        "to": ALICES,
        "id": "7",
        "name": '"Älice"',
        "history": "[3, 4]",
        "i": "1",
        "doubled": "8",
    }


def test_an_internal_function_has_its_own_variables(contract: DebuggedContract) -> None:
    sent = contract.send("locals(int8,bool,bytes3)", 1, False, b"abc")
    found = values(contract.state_at_line(sent, "return (value + 1, even)"))
    assert found == {"value": "11", "even": "false"}


def test_with_a_modifier_parameters_are_certain_and_local_variables_are_not(
    contract: DebuggedContract,
) -> None:
    contract.send("deposit(address,uint128)", ALICE, 100)
    sent = contract.send("pay(address,uint256)", ALICE, 5)
    for line in ("require(available >= least", "revert TooMuch"):
        assert values(contract.state_at_line(sent, line)) == {"to": ALICES, "amount": "5"}


def test_where_a_function_ends_nothing_is_said_of_its_variables(contract: DebuggedContract) -> None:
    sent = contract.send("locals(int8,bool,bytes3)", 1, False, b"abc")
    steps = contract.steps(sent)
    within = [number for number, it in enumerate(steps) if it["functions"] == 2]
    ends = values(contract.state(sent, within[-1]))
    assert set(ends.values()) == {None}


@pytest.mark.parametrize("line", ["uint256 before =", "after_ = balances[to]"])
def test_with_an_optimizer_there_is_what_the_call_was_given(client: ApiClient, line: str) -> None:
    contract = DebuggedContract(client, "optimized")
    sent = contract.send("deposit(address,uint128)", ALICE, 100)
    state = contract.state_at_line(sent, line)
    given = {it["name"]: it["value"] for it in state["variables"] if it["kind"] == "argument"}
    assert given == {"to": ALICES, "amount": "100"}
    assert all(it["value"] is None for it in state["variables"] if it["kind"] != "argument")


def test_a_constructor_has_what_it_was_given(contract: DebuggedContract) -> None:
    state = contract.state_at_line(contract.deployment, "count = by")
    assert values(state) == {"by": "3"}
    assert [it["kind"] for it in state["variables"]] == ["argument"]
