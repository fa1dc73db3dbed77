"""Entresol: a layer-2 node and the layer 1 it settles to.

import entresol

with entresol.devnet() as net:
    print(net.l2.url, net.l2.w3.eth.block_number)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from entresol.inprocess.devnet import Devnet, devnet
    from entresol.inprocess.provider import AsyncEntresolProvider, EntresolProvider

__all__ = ["AsyncEntresolProvider", "Devnet", "EntresolProvider", "devnet"]


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package: names are imported when they are used, from their modules."""

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return get


if not TYPE_CHECKING:  # A type checker would take every name for one of the package.
    __getattr__ = lazy_names(
        __name__,
        {
            "AsyncEntresolProvider": "entresol.inprocess.provider",
            "Devnet": "entresol.inprocess.devnet",
            "EntresolProvider": "entresol.inprocess.provider",
            "devnet": "entresol.inprocess.devnet",
        },
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
