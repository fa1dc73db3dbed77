"""The state of a remote chain, without anything local over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entresol._native import Snapshot

if TYPE_CHECKING:
    from entresol._native import RemoteTable


class RemoteState:
    """Knows nothing itself: everything is read from the table."""

    def __init__(self, remote: RemoteTable) -> None:
        self.remote = remote

    def account(self, address: bytes, /) -> Any:  # noqa: ARG002
        """Let the table be asked."""
        return NotImplemented

    def code(self, code_hash: bytes, /) -> bytes | None:  # noqa: ARG002
        """Let the table be asked."""
        return None

    def slot(self, address: bytes, slot: bytes, /) -> Any:  # noqa: ARG002
        """Let the table be asked."""
        return NotImplemented

    def block_hash(self, number: int, /) -> Any:  # noqa: ARG002
        """Let the table be asked."""
        return NotImplemented


def remote_snapshot(table: RemoteTable) -> Snapshot:
    """Return the state of one remote block."""
    return Snapshot(RemoteState(table))
