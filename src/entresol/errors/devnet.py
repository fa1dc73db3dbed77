"""Errors of a devnet: chains that a Python program runs in its own process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors.base import INTERNAL, EntresolError

if TYPE_CHECKING:
    from typing import Any


class DevnetError(EntresolError):
    """An error that a Python program gets from its devnet; no response has it."""

    rpc_code = INTERNAL


class DevnetStopped(DevnetError, ConnectionError):
    """A request to a devnet that is not running."""

    def __init__(self) -> None:
        super().__init__(
            "the devnet is not running: make requests inside of `with entresol.devnet()`"
        )


class MethodFailed(DevnetError):
    """A layer of a devnet has responded to a request with an error."""

    def __init__(self, method: str, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.method = method
        self.code = code
        self.message = message
        self.data = data


class BridgeFailed(DevnetError):
    """What was sent over the bridge of a devnet has reverted, or is not settled in time."""


class SnapshotLost(DevnetError):
    """The snapshot that should be restored is gone."""

    def __init__(self) -> None:
        super().__init__(
            "the chains cannot be reverted: they were reset, or reverted to an earlier snapshot, meanwhile"
        )
