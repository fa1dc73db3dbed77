"""The error tree: each error is declared once, in its module."""

from __future__ import annotations

import entresol.rpc.jsonrpc.errors  # noqa: F401  # every error is defined now
from entresol.errors import EntresolError


def kinds(root: type[EntresolError]) -> list[type[EntresolError]]:
    """Return every error below `root` that the package defines."""
    children = [it for it in root.__subclasses__() if it.__module__.startswith("entresol.")]
    return [kind for child in children for kind in (child, *kinds(child))]


def test_every_kind_of_error_says_which_code_it_has() -> None:
    silent = [it for it in EntresolError.__subclasses__() if "rpc_code" not in vars(it)]
    assert silent == []


def test_every_error_says_what_it_means() -> None:
    assert [
        kind for kind in kinds(EntresolError) if "__doc__" not in vars(kind) or not kind.__doc__
    ] == []
