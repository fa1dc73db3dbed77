"""The error tree: each error is declared once, in its module or in the folder of its feature."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import entresol.rpc.jsonrpc.errors  # noqa: F401  # every error of the core is defined now
from entresol import errors
from entresol.errors import EntresolError

PACKAGE: Final = Path(errors.__file__).parents[1]
FEATURES: Final = {
    path.parent.name: {
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    for path in sorted(PACKAGE.glob("features/*/errors.py"))
}
"""The errors of each feature."""


def kinds(root: type[EntresolError]) -> list[type[EntresolError]]:
    """Return every error below `root` that the package defines."""
    dir(errors)  # Those of features are defined now.
    children = [it for it in root.__subclasses__() if it.__module__.startswith("entresol.")]
    return [kind for child in children for kind in (child, *kinds(child))]


def test_every_kind_of_error_says_which_code_it_has() -> None:
    silent = [it for it in EntresolError.__subclasses__() if "rpc_code" not in vars(it)]
    assert silent == []


def test_every_error_says_what_it_means() -> None:
    assert [
        kind for kind in kinds(EntresolError) if "__doc__" not in vars(kind) or not kind.__doc__
    ] == []


def test_errors_of_features_have_the_names_of_the_package() -> None:
    everything = set[str]().union(*FEATURES.values())
    assert len(everything) > 30
    assert everything < set(dir(errors))
    assert {name: getattr(errors, name).__module__ for name in everything} == {
        name: f"entresol.features.{feature}.errors"
        for feature, names in FEATURES.items()
        for name in names
    }
    imported: dict[str, object] = {}
    exec("from entresol.errors import *", imported)  # noqa: S102
    assert set(dir(errors)) == {name for name in imported if not name.startswith("_")}


def test_type_checkers_know_the_errors_of_all_features() -> None:
    stub = (PACKAGE / "errors/__init__.pyi").read_text(encoding="utf-8")
    modules = [f"entresol.features.{feature}.errors" for feature in FEATURES]
    modules += [f"entresol.errors.{path.stem}" for path in (PACKAGE / "errors").glob("[a-z]*.py")]
    assert sorted(re.findall(r"^from (\S+) import \*$", stub, re.MULTILINE)) == sorted(modules)


def test_the_package_imports_errors_of_features_from_them_alone() -> None:
    everything = set[str]().union(*FEATURES.values())
    wrong = [
        f"{path.relative_to(PACKAGE)}: {alias.name}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "entresol.errors"
        for alias in node.names
        if alias.name in everything
    ]
    assert wrong == []


def test_without_the_folder_of_a_feature_its_errors_are_not_there(tmp_path: Path) -> None:
    declaration = ("node/__init__.py", "node/declaration.py")
    for name in ("__init__.py", *declaration, "errors", "features/relay"):
        source, target = PACKAGE / name, tmp_path / "entresol" / name
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(source, target)
    code = "from entresol import errors; print(errors.RelayOutOfFunds.__name__); errors.RemoteLied"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout == "RelayOutOfFunds\n"
    assert "AttributeError: module 'entresol.errors' has no attribute 'RemoteLied'" in ended.stderr
