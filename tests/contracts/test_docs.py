"""The page about the contracts matches the sources and tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from entresol import contracts
from entresol.l1.deployment import Deployment, RegisteredChain
from entresol.primitives.values import Address, Hash32

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "contracts.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_exists() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in HERE.rglob("test_*.py"))
    written = set(re.findall(r"^def (test_\w+)", sources, re.MULTILINE))
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named
    assert named <= written


@pytest.mark.parametrize(
    "name",
    [name for name in contracts.names() if contracts.artifact(name).source.startswith("l1/")],
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


def test_the_page_lists_what_a_deployment_creates_in_its_order() -> None:
    zero = Address.zero()
    deployment = Deployment(
        l1_chain_id=1,
        deployer=zero,
        chains=(RegisteredChain(chain_id=2, operator=zero, genesis_batch_hash=Hash32.zero()),),
    )
    steps = [step.description for step in deployment.steps()]
    listed = re.findall(r"^\| \*n\*[ +\d]* \| `([\w.]+)` \|", PAGE, re.MULTILINE)
    assert len(listed) == len(steps)
    for name, step in zip(listed, steps, strict=True):
        assert "." in name or step == f"deploy {name}"
