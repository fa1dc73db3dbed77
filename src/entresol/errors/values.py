"""Errors of malformed values: hex text, bytecode, genesis files."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class MalformedValue(EntresolError):
    """Text or bytes do not encode the expected value."""

    rpc_code = -32602

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.problem = problem
        self.field = field


class InvalidBytecode(EntresolError):
    """Code that cannot be published as a factory dependency."""

    rpc_code = -32000


class InvalidGenesis(EntresolError):
    """A genesis that no chain can start with."""

    rpc_code = -32602

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.problem = problem
        self.field = field


class InvalidStateFile(EntresolError):
    """A state file that cannot be loaded."""

    rpc_code = -32602

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        what = problem if field is None else f"{field}: {problem}"
        super().__init__(f"Failed to decode state dump: {what}")
        self.problem = problem
        self.field = field


class StateFileTooLarge(InvalidStateFile):
    """A state file that a client has sent unpacks to more than allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"it takes more than {limit} bytes unpacked: raise --load-state-limit-bytes, or give the file to "
            "--load-state"
        )
        self.limit = limit
