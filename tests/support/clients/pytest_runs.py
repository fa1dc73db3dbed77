"""Runs of pytest in a process of its own, where the package is installed with its entry points."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Final

from tests.support.polling import PATIENCE_SECONDS

ROOT: Final = Path(__file__).resolve().parents[3]


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
