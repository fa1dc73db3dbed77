"""The floors of the package, as the import contract in pyproject.toml orders them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CONTRACT: Final = "Imports run one way"


def floors() -> Mapping[str, int]:
    """Return the floor of each package, from 0 at the bottom; packages side by side share one."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (layers,) = (it["layers"] for it in contracts if it["name"] == CONTRACT)
    return {
        name: floor
        for floor, names in enumerate(reversed(layers))
        for name in re.findall(r"\w+", names)
    }


def package_of(file: str) -> str:
    """Return the package of a file below `src/entresol`."""
    return Path(file).parts[0].removesuffix(".py")
