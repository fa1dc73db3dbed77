"""Errors of the configuration and of listening on a port."""

from __future__ import annotations

from entresol.errors.base import INTERNAL, EntresolError


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


class AddressInUse(ListenFailed):
    """Another process listens on the port."""

    def __init__(self, host: str, port: int, flag: str = "--port") -> None:
        super().__init__(
            f"port {port} of {host} is in use: stop what uses it, or choose another with {flag}"
        )
        self.host = host
        self.port = port
        self.flag = flag

    def of_layer_one(self) -> AddressInUse:
        """Return the error with the flag of the development L1."""
        return AddressInUse(self.host, self.port, self.flag.replace("--", "--l1-"))


class SocketUnavailable(ListenFailed):
    """The server cannot listen on the path of its Unix socket."""

    def __init__(self, path: str, problem: str, flag: str = "--ipc") -> None:
        super().__init__(f"cannot listen on {path} ({problem}): choose another path with {flag}")
        self.path = path
        self.problem = problem

    def of_layer_one(self) -> SocketUnavailable:
        """Return the error with the flag of the development L1."""
        return SocketUnavailable(self.path, self.problem, "--l1-ipc")


class AddressForbidden(ListenFailed):
    """The system does not permit listening on the port."""

    def __init__(self, host: str, port: int, flag: str = "--port") -> None:
        super().__init__(
            f"not allowed to listen on port {port} of {host}: choose one above 1023 with {flag}"
        )
        self.host = host
        self.port = port
        self.flag = flag

    def of_layer_one(self) -> AddressForbidden:
        """Return the error with the flag of the development L1."""
        return AddressForbidden(self.host, self.port, self.flag.replace("--", "--l1-"))
