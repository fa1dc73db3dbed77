"""A page that takes long to render is rendered once for all clients that request it at the same time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from entresol.server.handler import completed

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from entresol.server.handler import Page, PageResponse

PAUSE_SECONDS: Final = 0.1
"""The least time between two renderings."""
TURN_CLIENTS: Final = 16
"""How many clients get a page in one turn of the event loop: it is long, and others are served in between."""


class SharedPage:
    """Renders a page at most ten times a second, however many clients request it.

    Requests in between get the next rendering, never an old one. Remembers: pending requests. Persists: nothing.
    Assumes: one event loop. Fails: as the page does.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._pending: list[asyncio.Future[PageResponse]] = []
        self._task: asyncio.Task[None] | None = None
        self._rendered_at = float("-inf")

    def __call__(self) -> PageResponse | Awaitable[PageResponse]:
        """Return the page, or an awaitable of it."""
        loop = asyncio.get_running_loop()
        pause = self._rendered_at + PAUSE_SECONDS - loop.time()
        if pause <= 0 and not self._pending:
            self._rendered_at = loop.time()
            return self._page()
        if not self._pending:
            self._task = loop.create_task(self._render_after(pause))
        pending: asyncio.Future[PageResponse] = loop.create_future()
        self._pending.append(pending)
        return pending

    async def _render_after(self, pause: float) -> None:
        await asyncio.sleep(pause)
        # A request from now on has to show what happens from now on.
        pending, self._pending = self._pending, []
        self._rendered_at = asyncio.get_running_loop().time()
        try:
            outcome = await completed(self._page())
        except Exception as error:  # noqa: BLE001 - it is that of all pending requests
            _finish(pending, error)
        else:
            _finish(pending, outcome)


def _finish(pending: list[asyncio.Future[PageResponse]], outcome: PageResponse | Exception) -> None:
    """Pass an outcome on, turn by turn."""
    for future in pending[:TURN_CLIENTS]:
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
    if len(pending) > TURN_CLIENTS:
        asyncio.get_running_loop().call_soon(_finish, pending[TURN_CLIENTS:], outcome)
