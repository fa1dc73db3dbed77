"""Coverage of contracts in Vyper."""

from __future__ import annotations

from functools import cache

from entresol.sources.coverage.counts import SourceCoverage
from entresol.sources.coverage.vyper import vyper_parts
from tests.support.chain.api_client import running_api
from tests.support.sources.covered_contracts import FOLDER, CoveredContracts, Step, coverage_of

STEPS: list[Step] = [
    ["deploy", "Vault", [7]],
    ["send", "Vault", "sign", [5]],
    ["send", "Vault", "sign", [-1]],
    ["send", "Vault", "fill", [3]],
    ["send", "Vault", "total", []],
    ["send", "Vault", "pay", [7, True]],
    ["fail", "Vault", "pay", [1, True]],
    ["fail", "Vault", "pay", [7, False]],
]


@cache
def ran() -> SourceCoverage:
    with running_api() as api:
        CoveredContracts(api, "vyper").take(STEPS)
        [found] = coverage_of(api.chain, FOLDER / "vyper").files
    return found


def texts(source: str) -> list[str]:
    """Return what is evaluated by the statements of a source."""
    found = vyper_parts(source.encode(), "A").statements
    return [source[it.evaluated.start : it.evaluated.end] for it in found]


def test_lines_that_did_not_run_are_missed() -> None:
    # limit > 100, `return 0`, a function that nothing calls, `break`, `refuse` and the default.
    assert ran().missed_lines == [18, 32, 36, 46, 74, 79]
    assert {line: ran().lines[line] for line in (44, 45, 47, 54, 55, 56)} == {
        44: 1,
        45: 3,
        47: 3,
        54: 3,
        55: 1,
        56: 2,
    }


def test_functions_are_counted_as_they_are_entered() -> None:
    assert {it.name: it.times for it in ran().functions} == {
        "Vault.constructor": 1,
        "Vault._sign": 2,
        "Vault._unused": 0,
        "Vault.sign": 2,
        "Vault.fill": 1,
        "Vault.total": 1,
        "Vault.pay": 3,
        "Vault.refuse": 0,
        "Vault.<fallback>": 0,
    }


def test_if_and_assert_have_two_ways() -> None:
    assert [(it.line, it.ways) for it in ran().branches] == [
        (16, (1, 0)),
        (17, (0, 1)),
        (28, (1, 1)),
        (30, (1, 0)),
        (45, (0, 3)),
        (54, (1, 2)),
        (64, (2, 1)),
        (65, (1, 1)),
    ]


def test_statements_may_have_several_lines_and_comments() -> None:
    source = """
def a():
    '''
    if this: were code
    '''
    b: uint256 = (  # one
        1 +

        2
    )
    if (b > 1):  # two
        return
    for c: uint256 in [1, 2]:
        self.d = "if e: #"
"""
    first = source[source.index("b:") : source.index("    if (b")].rstrip()
    assert texts(source) == [first, "(b > 1)", "return", "[1, 2]", 'self.d = "if e: #"']


def test_interfaces_and_structs_have_nothing_to_execute() -> None:
    source = """
interface I:
    def a() -> uint256: view
struct S:
    b: uint256
"""
    assert not texts(source)


def test_a_text_that_is_no_vyper_has_parts_that_do_not_matter() -> None:
    for source in ("", "def", "def a(", "def a():\n if", "def a():\n  if b:\n", "else:\n x", "((("):
        texts(source)
