"""What can be executed of a source in Solidity; solc's syntax trees say the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from entresol.features.debugger.sources.coverage.solidity import solidity_parts
from tests.support.features.debugger.covered_contracts import FOLDER

TREES: dict[str, Any] = json.loads((FOLDER / "parts.json").read_bytes())


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


@pytest.mark.parametrize("body", ["if", "for (", "try", "do", "assembly { switch", "a ? b", "?"])
def test_a_text_that_is_no_solidity_has_parts_that_do_not_matter(body: str) -> None:
    for text in (body, f"function f() {{ {body}", f"contract A {{ function f() {{ {body} }} }}"):
        solidity_parts(text.encode())
