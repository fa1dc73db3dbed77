"""Coverage of steps that run a part of contracts, beside what forge coverage and solidity-coverage say of the same."""

from __future__ import annotations

from typing import Any

import pytest

from entresol.features.debugger.sources.coverage.coverage import Coverage, SourceCoverage
from entresol.features.debugger.sources.folders import read_contracts
from tests.support.features.debugger.covered_contracts import FOLDER, coverage_of_steps, peers

FILES = sorted(peers()["forge"])

FORGE_HAS_NOT = {
    "Decisions.sol": {16},  # it did run: there is a result
    "Modifiers.sol": {13},  # ran in two functions, counted in one
}
"""Lines whose count is another one with forge coverage."""

HARDHAT_HAS_NOT = {"Loops.sol": {14}}  # the condition of a loop, counted once


def source(name: str) -> SourceCoverage:
    return coverage_of_steps()[f"contracts/{name}.sol"]


def ways(name: str) -> list[tuple[int, ...]]:
    """Return the ways of the branches of a source, with their lines."""
    return [(branch.line, *(way or 0 for way in branch.ways)) for branch in source(name).branches]


def functions(name: str) -> dict[str, int]:
    return {function.name: function.times for function in source(name).functions}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("peer", "peer_has_not"), [("forge", FORGE_HAS_NOT), ("hardhat", HARDHAT_HAS_NOT)]
)
def test_lines_run_as_often_as_a_peer_says(
    name: str, peer: str, peer_has_not: dict[str, set[int]]
) -> None:
    ours, theirs = coverage_of_steps()[name].lines, lines_of(peer, name)
    differing = {line for line in ours.keys() & theirs.keys() if ours[line] != theirs[line]}
    assert differing == peer_has_not.get(name.removeprefix("contracts/"), set())


def lines_of(peer: str, name: str) -> dict[int, int]:
    found: dict[str, Any] = peers()[peer][name]["lines"]
    return {int(line): times for line, times in found.items()}


def test_a_condition_has_a_way_if_it_holds_and_one_if_not() -> None:
    assert ways("Decisions") == [
        (5, 1, 1),
        (7, 1, 0),
        (15, 1, 0),
        (16, 0, 1),
        (26, 1, 1),
        (27, 0, 1),
    ]


def test_a_check_has_a_way_if_it_fails() -> None:
    assert ways("Checks") == [(9, 1, 1), (14, 1, 0), (19, 0, 1), (24, 1, 1), (29, 0, 1), (38, 1, 0)]


def test_a_modifier_counts_in_all_functions_that_have_it() -> None:
    assert functions("Modifiers") == {
        "Modifiers.constructor": 1,
        "Modifiers.onlyOwner": 3,
        "Modifiers.atLeast": 2,
        "Modifiers.once": 1,
        "Modifiers.unused": 0,
        "Modifiers.set": 1,
        "Modifiers.raise": 2,
        "Modifiers.strangers": 0,
    }
    assert ways("Modifiers") == [(13, 3, 0), (18, 1, 1), (25, 1, 0), (32, 0, 0)]


def test_conditionals_and_operands_have_ways_of_their_own() -> None:
    assert ways("Ternary") == [
        (7, 0, 1),
        (11, 1, 1),
        (11, 0, 1),
        (11, 1, 0),
        (12, 1, 1),
        (17, 1, 1),
    ]
    # An operand is evaluated, or not needed.
    assert ways("ShortCircuit")[:2] == [(8, 1, 0), (8, 0, 1)]
    assert ways("ShortCircuit")[-1] == (24, 0, 1)


def test_a_loop_has_a_way_into_it_and_one_past_it() -> None:
    assert ways("Loops") == [
        (7, 4, 1),
        (14, 4, 1),
        (15, 1, 3),
        (26, 3, 0),
        (27, 1, 2),
        (33, 3, 1),
        (40, 0, 1),
    ]


def test_every_clause_of_a_try_is_a_way_also_an_empty_one() -> None:
    assert ways("TryCatch")[-3:] == [(21, 1, 1, 0, 1), (33, 0, 1), (39, 1, 0)]


def test_a_block_of_inline_assembly_is_one_statement() -> None:
    assert ways("Assembly") == []
    assert source("Assembly").lines == {5: 1, 14: 2, 29: 1, 41: 0}


def test_a_contract_in_vyper_has_nothing_that_is_covered() -> None:
    found = Coverage(read_contracts([str(FOLDER / "vyper")]))
    assert (found.files, found.has_vyper) == ([], True)


def test_constructors_initialisers_and_what_they_call_are_counted() -> None:
    assert functions("Creation") == {
        "Parent.constructor": 3,
        "Creation.constructor": 3,
        "Creation.bounded": 2,
        "Creation.within": 1,
        "Maker.make": 2,
    }


def test_what_never_ran_has_no_lines_and_ways_that_ran() -> None:
    paths = [str(FOLDER / "plain-output.json")]
    found = Coverage(read_contracts(paths)).files
    assert [it.source.name for it in found] == FILES
    assert {it.shares[0].covered for it in found} == {0}
    ran = coverage_of_steps()
    assert [(it.shares[0].total, it.shares[3].total) for it in found] == [
        (ran[it.source.name].shares[0].total, ran[it.source.name].shares[3].total) for it in found
    ]


def test_a_source_that_was_compiled_twice_is_one() -> None:
    paths = [str(FOLDER / f"{it}-output.json") for it in ("plain", "optimized")]
    assert [file.source.name for file in Coverage(read_contracts(paths)).files] == FILES


def test_sources_may_be_left_out() -> None:
    contracts = read_contracts([str(FOLDER / "plain-output.json")])
    found = Coverage(contracts, lambda it: it.name.endswith("Loops.sol")).files
    assert [it.source.name for it in found] == ["contracts/Loops.sol"]


def test_with_an_optimizer_functions_are_still_known() -> None:
    ran = coverage_of_steps("optimized")["contracts/Modifiers.sol"]
    assert {function.name: function.times for function in ran.functions}["Modifiers.raise"] == 2


@pytest.mark.parametrize("name", FILES)
def test_by_way_of_yul_without_an_optimizer_lines_are_the_same(name: str) -> None:
    # Inline assembly is mapped as a whole, and an `if` without anything in it has code.
    without = {"contracts/Assembly.sol": set(range(46)), "contracts/Decisions.sol": {34}}
    left_out = without.get(name, set())
    ours, other = (coverage_of_steps(it)[name].lines for it in ("plain", "yul"))
    assert {it: other[it] for it in other if it not in left_out} == {
        key: ours[key] for key in ours if key not in left_out
    }
