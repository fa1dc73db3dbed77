"""Errors of malformed values: hex text, bytecode, genesis files, what a chain publishes."""

from __future__ import annotations

from typing import Final

from entresol.errors.base import INTERNAL, EntresolError

_BYTECODE_FAULTS: Final = {
    "too long": "Bytecode too long: {} bytes, while max {} allowed",
    "part of word": "Bytecode length is not divisible by 32",
    "even words": "Bytecode has even number of 32-byte words",
}


class MalformedValue(EntresolError):
    """Text or bytes do not encode the expected value."""

    rpc_code = -32602

    def __init__(self, problem: str, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.problem = problem
        self.field = field


class InvalidBytecode(EntresolError):
    """Code that cannot be published as a factory dependency, by the kind of its fault, in zksync-era's wording."""

    rpc_code = -32000

    def __init__(self, kind: str, size: int = 0, limit: int = 0) -> None:
        super().__init__(_BYTECODE_FAULTS[kind].format(size, limit))


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


class UnreadableData(EntresolError):
    """Published bytes that are not what docs/availability.md describes."""

    rpc_code = INTERNAL

    def __init__(self, field: str, problem: str, *, offset: int = 0) -> None:
        super().__init__(f"{field}, at byte {offset}: {problem}")
        self.field = field
        self.problem = problem
        self.offset = offset


class UnknownPublishedVersion(UnreadableData):
    """Published bytes of a version that is not known here: a newer one may read them."""

    def __init__(self, field: str, found: int, known: int, *, offset: int = 0) -> None:
        super().__init__(
            field,
            f"version {found} is not known, the latest one here is {known}: update entresol",
            offset=offset,
        )
        self.found = found
        self.known = known


class NotPublishable(EntresolError):
    """A value that the published format cannot hold."""

    rpc_code = INTERNAL

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem
