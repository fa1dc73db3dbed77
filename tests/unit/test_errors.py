"""The error tree."""

from __future__ import annotations

import inspect
import re

from entresol import errors


def test_the_drawn_tree_is_the_real_one() -> None:
    assert drawn_parents(errors.__doc__ or "") == real_parents(errors.EntresolError)


def test_every_error_is_in_the_tree() -> None:
    strays = [
        name
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if not issubclass(kind, errors.EntresolError)
    ]
    assert strays == []


def drawn_parents(drawing: str) -> dict[str, str]:
    """Return the parent of each error below the root, as drawn."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for branch, name in re.findall(r"^    ((?:[│├└─ ]{4})*)([A-Z]\w+)", drawing, re.MULTILINE):
        depth = len(branch) // 4
        path[depth:] = [name]
        if depth:
            assert name not in parents
            parents[name] = path[depth - 1]
    return parents


def real_parents(kind: type[Exception]) -> dict[str, str]:
    """Return the parent of each descendant of `kind` that the package defines."""
    parents: dict[str, str] = {}
    for child in kind.__subclasses__():
        if child.__module__.startswith(f"{errors.__name__}."):
            parents |= {child.__name__: kind.__name__} | real_parents(child)
    return parents
