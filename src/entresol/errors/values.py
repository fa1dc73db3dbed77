"""Errors of malformed values: hex text, bytecode, genesis files."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class MalformedValue(EntresolError):
    """Text or bytes are not the value they should be."""

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.problem = problem
        self.field = field


class InvalidBytecode(EntresolError):
    """Code cannot be published as a factory dependency."""


class InvalidGenesis(EntresolError):
    """A chain cannot start with what the genesis says."""

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.problem = problem
        self.field = field
