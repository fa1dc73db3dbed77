"""What can be executed of a source in Solidity; solc's syntax trees say the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from entresol.sources.coverage.solidity import SourceParts, Tokens, branches_of, solidity_parts
from tests.support.sources.covered_contracts import FOLDER

TREES: dict[str, Any] = json.loads((FOLDER / "parts.json").read_bytes())


def parts(body: str) -> SourceParts:
    return solidity_parts(f"contract A {{ function f() {{ {body} }} }}".encode())


def texts(body: str) -> list[str]:
    """Return what is evaluated by the statements of a function."""
    source = f"contract A {{ function f() {{ {body} }} }}"
    found = solidity_parts(source.encode()).statements
    return [source[it.evaluated.start : it.evaluated.end] for it in found]


@pytest.mark.parametrize("name", TREES)
def test_functions_statements_and_branches_are_those_of_the_compilers_syntax_tree(
    name: str,
) -> None:
    found = solidity_parts((FOLDER / name).read_bytes())
    tree = TREES[name]
    assert sorted(list(function.whole) for function in found.functions) == sorted(tree["functions"])
    assert sorted(list(statement.evaluated) for statement in found.statements) == sorted(
        tree["statements"]
    )
    branches = sorted([branch.kind, *branch.whole] for branch in found.branches)
    assert branches == sorted(tree["branches"])


def test_what_has_no_body_is_no_function() -> None:
    source = b"""
    interface I { function a() external; }
    abstract contract B { function c() public virtual; modifier d() virtual; uint256 public e = 5; }
    struct S { uint256 x; }
    enum E { F, G }
    using { h } for S global;
    function h(S memory s) pure returns (uint256) { return s.x; }
    """
    assert [function.name for function in solidity_parts(source).functions] == ["h"]


def test_functions_have_the_names_of_their_contracts() -> None:
    source = b"""
    contract A { constructor() {} receive() external payable {} fallback() external {} }
    library B { function c() internal {} modifier d() { _; } }
    abstract contract Old { function () payable {} }
    """
    assert [function.name for function in solidity_parts(source).functions] == [
        "A.constructor",
        "A.<receive>",
        "A.<fallback>",
        "B.c",
        "B.d",
        "Old.<fallback>",
    ]


def test_of_a_statement_with_others_inside_only_the_condition_is_its_own() -> None:
    assert texts("if (a) { b(); } else c = 1;") == ["a", "b()", "c = 1"]
    assert texts("for (uint i = 0; i < 3; i++) d();") == ["uint i = 0; i < 3", "i++", "d()"]
    assert texts("do { e(); } while (g);") == ["e()", "g"]
    assert texts("try this.f{gas: 1}(2) returns (uint) {} catch { h(); }") == [
        "this.f{gas: 1}(2)",
        "h()",
    ]


def test_blocks_and_placeholders_are_no_statements() -> None:
    assert texts("{ unchecked { a++; } } _;") == ["a++"]


def test_comments_and_texts_hide_what_looks_like_a_statement() -> None:
    assert texts("a = 'if (b) { c; }'; // d();\n /* e(); */ g();") == ["a = 'if (b) { c; }'", "g()"]


def test_a_loop_that_ends_only_from_inside_has_no_branch() -> None:
    assert not parts("while (true) { a(); }").branches
    assert not parts("for (;;) { a(); }").branches


def test_a_text_that_is_no_solidity_has_parts_that_do_not_matter() -> None:
    for text in (b"", b"}}}{{{", b"contract", b"function f(", b"contract A { if (", b"assembly {"):
        solidity_parts(text)
    for body in (
        "if",
        "for (",
        "try",
        "do",
        "while",
        "assembly",
        "assembly { switch",
        "a ? b",
        "?",
    ):
        parts(body)
        solidity_parts(f"function f() {{ {body}".encode())


def branches(text: str) -> list[str]:
    tokens = Tokens(text.encode())
    found = branches_of(tokens, 0, len(tokens))
    return [text[it.whole.start : it.whole.end] for it in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = b ? c : d", ["b ? c : d"]),
        ("b ? c ? 1 : 2 : d ? 3 : 4", ["b ? c ? 1 : 2 : d ? 3 : 4", "c ? 1 : 2", "d ? 3 : 4"]),
        ("f(a ? b : c, d)[e ? 1 : 0]", ["a ? b : c", "e ? 1 : 0"]),
        ("S({x: a ? b : c, y: d || e})", ["a ? b : c", "d || e"]),
    ],
)
def test_conditionals_have_two_ways_each(text: str, expected: list[str]) -> None:
    assert branches(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a && b && c", ["a && b", "a && b && c"]),
        ("a && b || c && d", ["a && b || c && d", "a && b", "c && d"]),
        ("!(a || b) && c", ["!(a || b) && c", "a || b"]),
        ("bool x = a || b", ["a || b"]),
        ("a || b ? c : d", ["a || b ? c : d", "a || b"]),
    ],
)
def test_operands_that_may_be_skipped_have_two_ways_each(text: str, expected: list[str]) -> None:
    assert branches(text) == expected


def test_checks_have_two_ways() -> None:
    assert branches("require(a, b)") == ["require(a, b)"]
    assert branches("assert(a || b)") == ["assert(a || b)", "a || b"]
    assert branches("other.require(a)") == branches("required(a)") == []
