"""A plugin of pytest that refuses to import features, as if their folders were deleted: ENTRESOL_REFUSED names them.

It is loaded before any conftest: `-p tests.support.run.refusal`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

VARIABLE: Final = "ENTRESOL_REFUSED"


class Refusal:
    """A finder of modules before all others."""

    def __init__(self, features: Collection[str]) -> None:
        self._packages = tuple(f"entresol.features.{name}" for name in features)

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - as of other finders
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        for package in self._packages:
            if name == package or name.startswith(f"{package}."):
                raise ModuleNotFoundError(f"{package} is refused", name=package)
        return None


def refuse() -> None:
    """Refuse the features that the variable names."""
    refused = [name for name in os.environ.get(VARIABLE, "").split(",") if name]
    if refused:
        sys.meta_path.insert(0, Refusal(refused))


refuse()
