"""A page for many clients is rendered for all of them together."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

import pytest

from entresol.server.handler import PageResponse
from entresol.server.shared_page import SharedPage

MANY = 1_000


class Pages:
    """Counts how often it is rendered."""

    def __init__(self) -> None:
        self.count = 0

    def at_once(self) -> PageResponse:
        self.count += 1
        return 200, "text/plain", b"%d" % self.count

    async def later(self) -> PageResponse:
        page = self.at_once()
        await asyncio.sleep(0)
        return page


async def get(shared: SharedPage) -> bytes:
    page = shared()
    _, _, body = await page if inspect.isawaitable(page) else page
    return body


@pytest.fixture(params=["at_once", "later"])
def rendered(request: pytest.FixtureRequest) -> tuple[Pages, SharedPage]:
    pages = Pages()
    page: Callable[[], PageResponse | Awaitable[PageResponse]] = getattr(pages, request.param)
    return pages, SharedPage(page)


def test_clients_that_come_together_share_a_rendering(rendered: tuple[Pages, SharedPage]) -> None:
    async def main() -> None:
        pages, shared = rendered
        bodies = await asyncio.gather(*(get(shared) for _ in range(MANY)))
        assert set(bodies) == {b"1", b"2"}
        assert pages.count == 2

    asyncio.run(main())


def test_nobody_gets_a_rendering_that_began_before_the_request(
    rendered: tuple[Pages, SharedPage],
) -> None:
    async def main() -> None:
        pages, shared = rendered
        for _ in range(3):
            before = pages.count
            assert int(await get(shared)) == before + 1

    asyncio.run(main())


def test_a_client_that_leaves_does_not_take_the_rendering_from_others(
    rendered: tuple[Pages, SharedPage],
) -> None:
    async def main() -> None:
        _, shared = rendered
        await get(shared)
        leaving, staying = (asyncio.ensure_future(get(shared)) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        assert await staying == b"2"

    asyncio.run(main())


def test_a_failure_is_that_of_all_who_wait_and_of_nobody_later() -> None:
    async def main() -> None:
        outcomes: list[PageResponse | Exception] = [
            (200, "", b"1"),
            ValueError("no page"),
            (200, "", b"3"),
        ]

        def page() -> PageResponse:
            outcome = outcomes.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        shared = SharedPage(page)
        assert await get(shared) == b"1"
        failed = await asyncio.gather(get(shared), get(shared), return_exceptions=True)
        assert [str(it) for it in failed] == ["no page"] * 2
        assert await get(shared) == b"3"

    asyncio.run(main())
