"""Errors of developers' methods."""

from __future__ import annotations

from entresol.errors.base import INTERNAL, EntresolError


class TokenSlotNotFound(EntresolError):
    """A token stores a balance or an allowance in no slot that can be set."""

    # As in anvil.
    rpc_code = INTERNAL
    is_explained = True

    def __init__(self, what: str) -> None:
        # As in anvil.
        super().__init__(f"Unable to set ERC20 {what}, no slot found")


class InvalidStateFile(EntresolError):
    """A state file that cannot be loaded."""

    rpc_code = -32602

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        what = problem if field is None else f"{field}: {problem}"
        super().__init__(f"Failed to decode state dump: {what}")
        self.problem = problem
        self.field = field
