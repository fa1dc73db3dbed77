from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.features.debugger.sources.definitions import solidity_definitions, vyper_definitions

SOURCE = """
pragma solidity ^0.8.0;
import {A} from "./A.sol"; // contract NotOne { function no() {} }
/* contract NorThis { */
string constant TEXT = "contract Neither {";
error Free(uint256);
struct Pair { uint256 a; }
function free(uint256 a) pure returns (uint256) { return a; }
library Lib { function inside() internal {} }
abstract contract Base {
    enum Kind { One, Two }
    mapping(address => mapping(uint => bool)) public seen;
    function() internal callback;
    Pair private pair = Pair({a: 1});
    modifier only() virtual;
    modifier onlyOne(uint256 a) { if (a > 1) { revert(); } _; }
    constructor(uint256 a) Parent(a) payable { { } }
    function declared() external virtual;
    function called(function(uint) external f) public onlyOne(f) returns (Pair memory) {
        assembly { function yul() -> r { r := 1 } }
    }
    fallback(bytes calldata) external returns (bytes memory) {}
    receive() external payable {}
}
contract Old { function() public payable {} }
"""


def names(source: str) -> list[tuple[str, str, str | None]]:
    found = solidity_definitions(source.encode())
    return [(it.kind, it.name, it.container) for it in found]


def test_contracts_and_what_is_in_them_are_found() -> None:
    assert names(SOURCE) == [
        ("variable", "TEXT", None),
        ("function", "free", None),
        ("library", "Lib", None),
        ("function", "inside", "Lib"),
        ("contract", "Base", None),
        ("variable", "seen", "Base"),
        ("variable", "callback", "Base"),
        ("variable", "pair", "Base"),
        ("modifier", "only", "Base"),
        ("modifier", "onlyOne", "Base"),
        ("function", "constructor", "Base"),
        ("function", "declared", "Base"),
        ("function", "called", "Base"),
        ("function", "<fallback>", "Base"),
        ("function", "<receive>", "Base"),
        ("contract", "Old", None),
        ("function", "<fallback>", "Old"),
    ]


def test_a_definition_is_as_long_as_the_compilers() -> None:
    text = SOURCE.encode()
    found = {
        solidity_definition.name: text[solidity_definition.start : solidity_definition.end]
        for solidity_definition in solidity_definitions(text)
    }
    assert found["free"].startswith(b"function free(")
    assert found["free"].endswith(b"return a; }")
    assert found["onlyOne"].endswith(b"_; }")
    assert found["Lib"] == b"library Lib { function inside() internal {} }"
    assert found["declared"] == b"function declared() external virtual;"


@pytest.mark.parametrize(
    "unclosed",
    [
        '\\"' * 500_000,
        "\\'" * 500_000,
        '"' + '\\"' * 500_000 + "\\",
        "/*" * 500_000,
        '"\n' * 500_000,
    ],
    ids=["double", "single", "ends in a backslash", "comments", "lines"],
)
def test_what_is_never_closed_is_read_once(unclosed: str) -> None:
    assert names("contract A { function f() {} }" + unclosed) == [
        ("contract", "A", None),
        ("function", "f", "A"),
    ]


def test_a_string_that_is_not_closed_ends_with_its_line() -> None:
    assert names('string constant A = "open;\n; contract B {}') == [
        ("variable", "A", None),
        ("contract", "B", None),
    ]


@given(st.text(alphabet="contract{}();=/*\"'\n function_a", max_size=80))
def test_any_text_is_read(text: str) -> None:
    solidity_definitions(text.encode())
    vyper_definitions(text.encode(), "T")


VYPER = b"""# @version 0.4.0
owner: address

@deploy
def __init__(limit: uint256,
    other: uint256):
    self.owner = msg.sender

# between
@external
@view
def run() -> uint256:
    # inside

    return 1

@external
def __default__():
    pass
"""


def test_functions_of_vyper_have_their_decorators() -> None:
    found = vyper_definitions(VYPER, "T")
    assert [(it.name, it.container) for it in found] == [
        ("T", None),
        ("constructor", "T"),
        ("run", "T"),
        ("<fallback>", "T"),
    ]
    run = VYPER[found[2].start : found[2].end]
    assert run.startswith(b"@external\n@view\ndef run()")
    assert run.endswith(b"return 1")
