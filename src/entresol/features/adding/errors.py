"""Errors of adding chains."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class ChainNotAdded(EntresolError):
    """A chain cannot be added to the node."""

    rpc_code = -32000
