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
    """Something sent over the bridge of a devnet has reverted, or is not settled in time."""


class BundleNotReady(BridgeFailed):
    """A bundle cannot be executed on its destination yet: which stage it is in, and why it stays there if that is known."""

    def __init__(self, bundle: str, stage: str, reason: str | None = None) -> None:
        because = "" if reason is None else f": {reason}"
        super().__init__(f"the bundle {bundle} cannot be executed yet, it is {stage}{because}")
        self.bundle = bundle
        self.stage = stage
        self.reason = reason


class BundleReverted(BridgeFailed):
    """A bundle was rejected, where it is sent or where it is executed; `reason` is the decoded error."""

    def __init__(self, function: str, reason: str, data: bytes = b"") -> None:
        super().__init__(f"{function} reverts: {reason}")
        self.function = function
        self.reason = reason
        self.data = data
