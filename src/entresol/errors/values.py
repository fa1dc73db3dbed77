"""Errors of malformed values: settings, addresses to listen on, hex text, bytecode, genesis files, published data."""

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


class InvalidConfig(EntresolError):
    """A setting is invalid."""

    rpc_code = -32602

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}" if source else problem)
        self.source = source
        self.problem = problem


class ListenFailed(EntresolError):
    """The server cannot listen on its address."""

    rpc_code = INTERNAL

    def of_layer_one(self) -> ListenFailed:
        """Return the error of the development L1, whose port and path have flags of their own."""
        return self


class AddressUnavailable(ListenFailed):
    """Another process listens on the port, or the system does not permit listening on it; the text ends with the flag."""

    def __init__(self, text: str, flag: str = "--port") -> None:
        super().__init__(f"{text} with {flag}")
        self.text = text
        self.flag = flag

    def of_layer_one(self) -> AddressUnavailable:
        """Return the error with the flag of the development L1."""
        return AddressUnavailable(self.text, self.flag.replace("--", "--l1-"))


class SocketUnavailable(ListenFailed):
    """The server cannot listen on the path of its Unix socket."""

    def __init__(self, path: str, problem: str, flag: str = "--ipc") -> None:
        super().__init__(f"cannot listen on {path} ({problem}): choose another path with {flag}")
        self.path = path
        self.problem = problem

    def of_layer_one(self) -> SocketUnavailable:
        """Return the error with the flag of the development L1."""
        return SocketUnavailable(self.path, self.problem, "--l1-ipc")
