"""Entresol: a layer-2 node and the layer 1 it settles to.

import entresol

with entresol.devnet() as net:
    print(net.l2.url, net.l2.w3.eth.block_number)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from entresol.inprocess.async_provider import AsyncEntresolProvider
    from entresol.inprocess.devnet import Devnet, devnet
    from entresol.inprocess.provider import EntresolProvider

__all__ = ["AsyncEntresolProvider", "Devnet", "EntresolProvider", "devnet"]

_MODULES: Final = {
    "AsyncEntresolProvider": "entresol.inprocess.async_provider",
    "Devnet": "entresol.inprocess.devnet",
    "EntresolProvider": "entresol.inprocess.provider",
    "devnet": "entresol.inprocess.devnet",
}


if not TYPE_CHECKING:  # A type checker would take every name for one of the package.

    def __getattr__(name: str) -> Any:
        """Import what programs use when they use it: importing the package takes no time."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
