"""Whether web3.py is installed: clients need it, the node does not."""

from __future__ import annotations

from importlib.util import find_spec

from entresol.errors import InvalidConfig


def require_web3() -> None:
    """Raise an error that says how to install web3.py, if it is not."""
    if find_spec("web3") is None:
        raise InvalidConfig("", "this needs web3.py: pip install 'entresol[testing]'")
