"""The page about the contracts says what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from entresol import contracts

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "contracts.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_exists() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    written = set(re.findall(r"^def (test_\w+)", sources, re.MULTILINE))
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named
    assert named <= written


@pytest.mark.parametrize(
    "name", [it for it in contracts.names() if contracts.artifact(it).source.startswith("l1/")]
)
def test_every_contract_of_l1_is_described(name: str) -> None:
    assert f"| `{name}` |" in PAGE


def test_every_error_that_the_page_names_is_declared() -> None:
    declared = {
        entry["name"]
        for name in contracts.names()
        for entry in contracts.artifact(name).abi
        if entry["type"] == "error"
    }
    column = re.findall(r"^\| [^|]+ \| ([^|]+) \| `test_", PAGE, re.MULTILINE)
    named = {error for cell in column for error in re.findall(r"`(\w+)`", cell)}
    assert named
    assert named <= declared
