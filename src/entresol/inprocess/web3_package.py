"""Whether web3.py is installed: clients need it, the node does not."""

from __future__ import annotations

from importlib.util import find_spec

from entresol.errors import InvalidConfig


def has_web3() -> bool:
    """Return whether web3.py is installed, without importing it."""
    return find_spec("web3") is not None


def require_web3() -> None:
    """Raise an error that says how to install web3.py, if it is not."""
    if not has_web3():
        raise InvalidConfig("", "this needs web3.py: pip install 'entresol[testing]'")
