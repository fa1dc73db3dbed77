"""The pages about the contracts name every function that changes state, errors that exist, and tests that exist."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from entresol import contracts
from entresol.l1.deployment import Deployment, RegisteredChain
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.engine import signature

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "reports" / "contracts-review.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
ROW = re.compile(r"^\| (`[^|]+) \| ([^|]+) \|.*\| ([^|]*) \|$", re.MULTILINE)


def named_functions(contract: str) -> list[str]:
    return [
        name for row in ROW.findall(SECTIONS[contract]) for name in re.findall("`(.+?)`", row[0])
    ]


def label(entry: dict[str, Any], names: Counter[str]) -> str:
    """Return how the page names a function: by its signature if another one has its name."""
    if entry["type"] != "function":
        return str(entry["type"])
    return signature(entry) if names[entry["name"]] > 1 else str(entry["name"])


def functions_of(contract: str, *, views: bool) -> set[str]:
    """Return the functions of a contract, in the page's words."""
    kinds = ("function", "fallback", "receive")
    entries = [entry for entry in contracts.artifact(contract).abi if entry["type"] in kinds]
    names = Counter(entry["name"] for entry in entries if entry["type"] == "function")
    return {
        label(entry, names)
        for entry in entries
        if views or entry["stateMutability"] in ("nonpayable", "payable")
    }


@pytest.mark.parametrize("contract", contracts.names())
def test_every_function_that_changes_state_is_reviewed(contract: str) -> None:
    named = named_functions(contract)
    assert functions_of(contract, views=False) <= set(named)
    assert set(named) <= functions_of(contract, views=True)
    assert len(named) == len(set(named))


def test_every_contract_of_the_page_exists() -> None:
    assert set(SECTIONS) == set(contracts.names())


@pytest.mark.parametrize("contract", contracts.names())
def test_every_reviewed_function_has_a_caller_and_a_test(contract: str) -> None:
    for function, caller, tests in ROW.findall(SECTIONS[contract]):
        assert caller.strip(), function
        assert "::test_" in tests, function


def test_every_test_that_the_review_names_exists() -> None:
    named = set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE))
    assert named
    missing = [
        f"{path}::{test}"
        for path, test in sorted(named)
        if f"\ndef {test}(" not in (HERE / path).read_text(encoding="utf-8")
    ]
    assert missing == []


CONTRACTS = (HERE.parents[1] / "docs" / "contracts.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_exists() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in HERE.rglob("test_*.py"))
    written = set(re.findall(r"^def (test_\w+)", sources, re.MULTILINE))
    named = set(re.findall(r"`(test_\w+)`", CONTRACTS))
    assert named
    assert named <= written


@pytest.mark.parametrize(
    "name",
    [name for name in contracts.names() if contracts.artifact(name).source.startswith("l1/")],
)
def test_every_contract_of_l1_is_described(name: str) -> None:
    assert f"| `{name}` |" in CONTRACTS


def test_every_error_that_the_page_names_is_declared() -> None:
    declared = {
        entry["name"]
        for name in contracts.names()
        for entry in contracts.artifact(name).abi
        if entry["type"] == "error"
    }
    column = re.findall(r"^\| [^|]+ \| ([^|]+) \| `test_", CONTRACTS, re.MULTILINE)
    named = {error for cell in column for error in re.findall(r"`(\w+)`", cell)}
    assert named
    assert named <= declared


def test_the_page_lists_what_a_deployment_creates_in_its_order() -> None:
    zero = Address.zero()
    deployment = Deployment(
        l1_chain_id=1,
        deployer=zero,
        chains=(RegisteredChain(chain_id=2, operator=zero, genesis_batch_hash=Hash32.zero()),),
    )
    steps = [step.description for step in deployment.steps()]
    listed = re.findall(r"^\| \*n\*[ +\d]* \| `([\w.]+)` \|", CONTRACTS, re.MULTILINE)
    assert len(listed) == len(steps)
    for name, step in zip(listed, steps, strict=True):
        assert "." in name or step == f"deploy {name}"
