"""Gas reports as tables."""

from __future__ import annotations

import pytest

from entresol.features.debugger.gas_report_table import gas_lines, gas_table
from entresol.features.debugger.sources.profile.amounts import amounts_of
from entresol.features.debugger.sources.profile.counts import FileCounts, PlaceCounts
from entresol.features.debugger.sources.profile.report import ContractGas, FunctionGas, GasReport
from entresol.features.debugger.sources.source_file import SourceFile

HOSTILE = "\x1b[2J\u202eevil\u2066\n" + "x" * 10_000


def function(name: str, *gas: int, failed: int = 0, caller: str | None = None) -> FunctionGas:
    failures = amounts_of([(10, failed)] if failed else [])
    return FunctionGas(name, caller, amounts_of((it, 1) for it in gas), failures)


def contract(name: str, *functions: FunctionGas, file: str | None = "A.sol") -> ContractGas:
    return ContractGas(name, file, functions=list(functions))


def names(report: GasReport, sort: str) -> list[str]:
    rows = (it.split() for it in gas_table(report, sort) if it.startswith("  "))
    return [row[0] for row in rows if row[0] != "function"]


def test_each_function_has_a_row_below_its_contract() -> None:
    deployed = ContractGas(
        "Token",
        "Token.sol",
        size=1_234,
        deployments=function("constructor", 100, 300, failed=1),
        functions=[function("mint", 10, 20), function("burn", failed=2, caller="Proxy")],
    )
    assert list(gas_table(GasReport([deployed]))) == [
        "Token (Token.sol)",
        "  deployed 2 times: 100 to 300 gas, 1,234 bytes, 1 failed",
        "  function         calls  min  avg  median  max  failed",
        "  mint                 2   10   15      15   20",
        "  burn (by Proxy)      2   10   10      10   10       2",
    ]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("name", ["often", "much", "once"]),
        ("calls", ["often", "much", "once"]),
        ("avg", ["much", "once", "often"]),
        ("max", ["much", "once", "often"]),
        ("total", ["much", "often", "once"]),
    ],
)
def test_rows_can_be_sorted(sort: str, expected: list[str]) -> None:
    functions = function("often", 40, 50, 40), function("much", 500), function("once", 60)
    assert names(GasReport([contract("A", *functions)]), sort) == expected


def test_names_do_not_control_the_terminal() -> None:
    hostile = contract(HOSTILE, function(HOSTILE, 1, caller=HOSTILE), file=HOSTILE)
    lines = list(gas_table(GasReport([hostile])))
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) < 600


def test_a_source_has_its_gas_beside_each_line() -> None:
    file = FileCounts(SourceFile("A.sol", f"a;\n\tb();\n{HOSTILE}\nc;".encode()))
    file.lines = {1: PlaceCounts(2, 1_000), 2: PlaceCounts(1, 20, 3_000)}
    lines = list(gas_lines(file))
    assert lines[:4] == [
        "A.sol",
        "     runs          gas   with calls",
        "        2        1,000              │ a;",
        "        1           20        3,020 │     b();",
    ]
    assert all(line.isprintable() for line in lines)
    assert lines[-1] == " " * 35 + " │ c;"
