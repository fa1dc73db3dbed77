"""What functions declare, by their texts."""

from __future__ import annotations

import pytest

from entresol.features.debugger.sources.step_state.declarations import (
    MAX_TEXT,
    Declarations,
    declarations,
)


def declared(text: str) -> Declarations | None:
    return declarations(text.encode(), 0, len(text.encode()))


def local(body: str) -> list[tuple[str, str]] | None:
    found = declared(f"function f() public {{ {body} }}")
    assert found is not None
    return None if found.local is None else [(it.name, it.type) for it in found.local]


def test_parameters_and_results_have_types_and_locations() -> None:
    found = declared(
        "function f(uint a, bytes calldata /* b, */ b, Some.Kind[] memory, address payable d)"
        " external view virtual override(A, B) returns (string memory, int8 e) { }"
    )
    assert found is not None
    assert [
        (parameter.name, parameter.type, parameter.location, parameter.words)
        for parameter in found.parameters
    ] == [
        ("a", "uint", "", 1),
        ("b", "bytes", "calldata", 2),
        ("", "Some.Kind[]", "memory", 1),
        ("d", "address", "", 1),
    ]
    assert [(result.name, result.type) for result in found.results] == [
        ("", "string"),
        ("e", "int8"),
    ]
    assert found.local == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("uint a; a = 1; b; return a; emit E(a); delete a;", [("a", "uint")]),
        ("uint a = g(1, 2); h{value: a}(x); bool b = true;", [("a", "uint"), ("b", "bool")]),
        ("(uint a, , bool b) = g(); (c, d) = h();", [("a", "uint"), ("b", "bool")]),
        ("for (uint i = 0; i < 3; ++i) { uint j; } uint k;", [(it, "uint") for it in "ijk"]),
        ("for (uint i; i < 3; ++i) g(i); uint k;", [("i", "uint"), ("k", "uint")]),
        ('string memory a = "uint b; } {"; // uint c;\n', [("a", "string")]),
        ("assembly { let a := 1 } unchecked { uint b; }", [("b", "uint")]),
        (
            "if (a) { uint b; } else if (c) { uint d; } else { uint e; }",
            [(it, "uint") for it in "bde"],
        ),
        ("S memory a = S({b: 1, c: 2}); C d = new C{salt: x}(1);", [("a", "S"), ("d", "C")]),
        ("do { uint a; } while (b); uint c;", [("a", "uint"), ("c", "uint")]),
        ("try g() returns (uint a) { } catch { }", None),
        ("function (uint) internal a = g;", None),
        ("mapping(uint => uint) storage a = b;", None),
    ],
)
def test_local_variables_are_those_of_declarations(
    body: str, expected: list[tuple[str, str]] | None
) -> None:
    assert local(body) == expected


def test_a_variable_is_there_from_its_declaration_to_the_end_of_its_block() -> None:
    text = "function f() public { { uint a = 1; g(); } h(); }"
    found = declared(text)
    assert found is not None
    assert found.local is not None
    [variable] = found.local
    assert variable.start < text.index("g()") < variable.end < text.index("h()")


@pytest.mark.parametrize("head", ["only(1)", "Base(a)", "onlyOwner"])
def test_modifiers_have_variables_that_are_not_known(head: str) -> None:
    found = declared(f"function f(uint a) public {head} {{ uint b; }}")
    assert found is not None
    assert found.local is None
    assert len(found.parameters) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "function f(",
        "function f() {",
        "function f(uint a",
        "function f(function() a) {}",
        "function f(uint a) external;",
        "x" * (MAX_TEXT + 1),
    ],
)
def test_what_is_not_understood_is_none(text: str) -> None:
    assert declared(text) is None


@pytest.mark.parametrize(
    "inside",
    ["(a)" * 20_000, "{" * 60_000, "(" * 60_000, "{}" * 30_000, "a b;" * 15_000, "/*" * 30_000],
)
def test_a_hostile_text_comes_to_an_end(inside: str) -> None:
    found = declared(f"function f() public {{ {inside} }}")
    assert found is None or found.local is not None
