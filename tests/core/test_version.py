"""The version that the package says it has."""

from __future__ import annotations

import tomllib
from pathlib import Path

from entresol.version import VERSION

ROOT = Path(__file__).parents[2]


def test_the_package_has_the_version_of_the_project_and_of_the_crate() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    crate = tomllib.loads((ROOT / "native" / "Cargo.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == VERSION
    assert crate["workspace"]["package"]["version"] == VERSION
