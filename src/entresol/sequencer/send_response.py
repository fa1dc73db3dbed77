"""The response to the sender of a transaction."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entresol.primitives.values import Hash32


class SendResponse:
    """The hash of a transaction, or the error that its sender gets."""

    __slots__ = ("future", "reports_failure")

    def __init__(self, *, reports_failure: bool) -> None:
        """`reports_failure` says that a transaction which fails in its block is an error for its sender, if ever."""
        self.future: asyncio.Future[Hash32] = asyncio.get_running_loop().create_future()
        self.reports_failure = reports_failure

    def succeed(self, sent: Hash32) -> None:
        """Respond with the hash of the transaction."""
        # A client that has gone has cancelled it.
        if not self.future.done():
            self.future.set_result(sent)

    def fail(self, error: Exception) -> None:
        """Respond with an error."""
        if not self.future.done():
            self.future.set_exception(error)
