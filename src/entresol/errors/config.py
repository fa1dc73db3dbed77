"""Errors of the configuration and of listening on a port."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class InvalidConfig(EntresolError):
    """A setting is invalid."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}" if source else problem)
        self.source = source
        self.problem = problem


class ListenFailed(EntresolError):
    """The server cannot listen on its address."""


class AddressInUse(ListenFailed):
    """Another process listens on the port."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"port {port} of {host} is in use: stop what uses it, or choose another with --port"
        )
        self.host = host
        self.port = port


class SocketUnavailable(ListenFailed):
    """The server cannot listen on the path of its Unix socket."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"cannot listen on {path} ({problem}): choose another path with --ipc")
        self.path = path
        self.problem = problem


class AddressUnavailable(ListenFailed):
    """The machine has no such address."""

    def __init__(self, host: str, problem: str) -> None:
        super().__init__(
            f"cannot listen on {host} ({problem}): give an address of this machine with --host"
        )
        self.host = host
        self.problem = problem


class AddressForbidden(ListenFailed):
    """The system does not permit listening on the port."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"not allowed to listen on port {port} of {host}: choose one above 1023 with --port"
        )
        self.host = host
        self.port = port
