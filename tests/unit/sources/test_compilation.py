"""What tells a compilation from others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from entresol.sources.added_contracts import Compilation
from entresol.sources.compilation import compilation_of
from entresol.sources.compiler_json import CompilerInput, CompilerOutput


def documents() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return input and output of a compilation of two contracts."""
    code = {"evm": {"deployedBytecode": {"object": "5f5ffd", "sourceMap": "1:2:0:-"}}}
    given = {
        "sources": {"A.sol": {"content": "contract A {}"}},
        "settings": {"optimizer": {"enabled": False}},
    }
    output = {
        "sources": {"A.sol": {"id": 0}},
        "contracts": {"A.sol": {"A": code}, "B.sol": {"B": dict(code)}},
    }
    return given, output


def compiled(given: dict[str, Any], output: dict[str, Any]) -> Compilation:
    texts = msgspec.convert(given, CompilerInput)
    return compilation_of(msgspec.convert(output, CompilerOutput), texts)


def test_equal_compilations_have_the_same_key() -> None:
    assert compiled(*documents()).key == compiled(*documents()).key


@pytest.mark.parametrize(
    "change",
    [
        lambda given, _: given["sources"].update({"A.sol": {"content": "contract A { }"}}),
        lambda given, _: given["settings"]["optimizer"].update(enabled=True),
        lambda _, output: output["sources"]["A.sol"].update(id=1),
        lambda _, output: output["contracts"]["B.sol"].update(C=output["contracts"]["A.sol"]["A"]),
        lambda _, output: output["contracts"]["B.sol"]["B"].update(abi=[{"type": "fallback"}]),
        lambda _, output: output["contracts"].update({"C.sol": output["contracts"].pop("B.sol")}),
    ],
)
def test_each_part_of_a_compilation_is_in_its_key(change: Callable[[Any, Any], None]) -> None:
    changed = documents()
    change(*changed)
    assert compiled(*changed).key != compiled(*documents()).key
