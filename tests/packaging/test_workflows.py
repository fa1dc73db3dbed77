"""The workflows of GitHub call what the Makefile has, and CI here runs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.support.docs.pages import ROOT

WORKFLOWS: Final = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE: Final = (ROOT / "Makefile").read_text(encoding="utf-8")
RUN_IN_CI: Final = {"wheel", "docs-site", "unit"}
"""Targets that `make test` builds and runs, whole or, of `unit`, by its tests."""


def targets_of(workflow: str) -> set[str]:
    """Return the phony targets that the commands of a workflow name."""
    commands = re.findall(r"\bmake ([^&\n]+)", workflow)
    return {
        word for command in commands for word in command.split() if re.fullmatch(r"[a-z-]+", word)
    }


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_makes_what_ci_makes_here(path: Path) -> None:
    targets = targets_of(path.read_text(encoding="utf-8"))
    assert all(f"\n.PHONY: {target}\n" in MAKEFILE for target in targets)
    assert targets <= RUN_IN_CI


def test_the_tests_on_linux_are_those_of_ci_here() -> None:
    workflow = ROOT / ".github" / "workflows" / "test.yml"
    assert "run: .ci/run\n" in workflow.read_text(encoding="utf-8")
