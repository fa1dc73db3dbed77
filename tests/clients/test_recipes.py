"""The recipes of docs/recipes.md: the files and the commands of the page do on a node what it says."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support.clients.layers import Layers, running_layers
from tests.support.clients.tools import (
    HARDHAT_2,
    HARDHAT_3,
    foundry,
    hardhat,
    needs_tools,
    python_tools,
)
from tests.support.docs.pages import ADDRESS, Block, recipes_of
from tests.support.polling import PATIENCE_SECONDS

pytestmark = [pytest.mark.clients, pytest.mark.slow]

L1_ADDRESS: Final = "127.0.0.1:8545"
RECIPES: Final = recipes_of("docs/recipes.md")
INSTALLS: Final = ("pip install", "npm install")
TOOLS: Final[Mapping[str, Callable[[Path], Mapping[str, str]]]] = {
    "titanoboa": lambda project: python_tools(project / "home"),
    "Moccasin": lambda project: python_tools(project / "home"),
    "Ape": lambda project: python_tools(project / "home"),
    "Foundry": lambda _: foundry(),
    "Hardhat 2": lambda project: hardhat(project, HARDHAT_2),
    "Hardhat 3": lambda project: hardhat(project, HARDHAT_3),
    "Hardhat 3 with viem": lambda project: hardhat(project, HARDHAT_3),
}
"""The environment in which the commands of a recipe run in a project."""
IN_PYTHON: Final = ("titanoboa", "Moccasin", "Ape")


def local(text: str, layers: Layers) -> str:
    """Return a text of the page for a node that listens elsewhere."""
    for address, url in ((ADDRESS, layers.url), (L1_ADDRESS, layers.l1_url)):
        text = text.replace(address, url.partition("://")[2])
    return text


def write(project: Path, blocks: list[Block], layers: Layers) -> None:
    for block in blocks:
        if block.title:
            path = project / block.title
            path.parent.mkdir(exist_ok=True)
            path.write_text(local(block.text, layers), encoding="utf-8")


@pytest.mark.parametrize(
    "name", [pytest.param(tool, marks=needs_tools if tool in IN_PYTHON else ()) for tool in TOOLS]
)
def test_a_recipe_does_what_it_shows(name: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    environment = TOOLS[name](project)
    commands = [block for block in RECIPES[name] if block.language == "sh"]
    shown = 0
    with running_layers("embedded") as layers:
        write(project, RECIPES[name], layers)
        for command in commands:
            if command.text.startswith(INSTALLS):
                continue
            ran = subprocess.run(
                ["/bin/sh", "-euc", local(command.text, layers)],
                cwd=project,
                env=dict(environment),
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
            printed = ran.stdout + ran.stderr
            assert ran.returncode == 0, printed
            for line in (command.output or "").splitlines():
                assert line in printed
                shown += 1
    assert shown > 0


def test_every_recipe_of_a_tool_is_run() -> None:
    titles = {name for name, blocks in RECIPES.items() if any(block.title for block in blocks)}
    assert titles == set(TOOLS)
