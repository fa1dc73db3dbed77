"""The error tree."""

from __future__ import annotations

import inspect
import re

from entresol import errors


def test_the_drawn_tree_is_the_real_one() -> None:
    assert drawn_tree(errors.__doc__ or "") == real_tree(errors.EntresolError)


def test_every_error_is_in_the_tree() -> None:
    strays = [
        name
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if not issubclass(kind, errors.EntresolError)
    ]
    assert strays == []


def drawn_tree(drawing: str) -> list[tuple[int, str]]:
    """Return the depth and name of each error in the order in which they are drawn."""
    lines = re.findall(r"^    ((?:[│├└─ ]{4})*)([A-Z]\w+)", drawing, re.MULTILINE)
    return [(len(branch) // 4, name) for branch, name in lines]


def real_tree(kind: type[Exception], depth: int = 0) -> list[tuple[int, str]]:
    """Return the depth and name of `kind` and its descendants in the order of their definition."""
    descendants = [
        entry
        for child in kind.__subclasses__()
        if child.__module__ == errors.__name__
        for entry in real_tree(child, depth + 1)
    ]
    return [(depth, kind.__name__), *descendants]
