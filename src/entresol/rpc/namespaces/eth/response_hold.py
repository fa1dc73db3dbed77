"""Hold the responses to transactions until clients have forgotten what they cached before them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from entresol.offload import Deferred

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from entresol.chain.chain import Chain

_T = TypeVar("_T")


class ResponseHold:
    """Holds a response until `seconds` after the request, if blocks are sealed at once; an error is not held.

    A client that reads its nonce, sends, and has the receipt at once would otherwise sign its next transaction with the
    nonce that it has cached. Remembers: nothing. Fails: as what it holds.
    """

    def __init__(self, chain: Chain, seconds: float) -> None:
        self._chain = chain
        self._seconds = seconds

    def hold(self, response: Deferred[_T]) -> Deferred[_T]:
        """Return a response that comes later, if it has to."""
        if not self._seconds or not self._chain.schedule.is_automine:
            return response
        end = asyncio.get_running_loop().time() + self._seconds
        return Deferred(_held(response.result, end))


async def _held(response: Awaitable[_T], end: float) -> _T:
    result = await response
    await asyncio.sleep(end - asyncio.get_running_loop().time())
    return result
