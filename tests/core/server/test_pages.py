"""Files, and pages that are rendered once for many."""

from __future__ import annotations

import asyncio
import inspect
import zlib
from collections.abc import Awaitable, Callable

import pytest

from entresol.server.handler import PageResponse
from entresol.server.pages import SharedPage, StaticFile

BODY = b"floors " * 100
STYLE = StaticFile.of(BODY, "text/css", b"x-policy: strict\r\n")
PAGE = StaticFile.of(BODY, "text/html; charset=utf-8")
BROWSER = {b"accept": b"text/html,application/xhtml+xml,*/*;q=0.8"}

MANY = 1_000


def test_a_file_has_a_tag_and_its_headers() -> None:
    response = STYLE.response({})
    assert response is not None
    assert response.body == BODY
    assert b"x-policy: strict\r\n" in response.headers
    assert STYLE.etag in response.headers


def test_a_client_that_accepts_gzip_gets_the_compressed_form() -> None:
    response = STYLE.response({b"accept-encoding": b"br, gzip"})
    assert response is not None
    assert response.is_compressed
    assert zlib.decompress(response.body, 31) == BODY


def test_only_a_client_that_accepts_html_gets_a_page() -> None:
    assert PAGE.response(BROWSER) is not None
    assert PAGE.response({b"accept": b"*/*"}) is None
    assert PAGE.response({}) is None


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


async def test_clients_that_come_together_share_a_rendering(
    rendered: tuple[Pages, SharedPage],
) -> None:
    pages, shared = rendered
    bodies = await asyncio.gather(*(get(shared) for _ in range(MANY)))
    assert set(bodies) == {b"1", b"2"}
    assert pages.count == 2


async def test_a_client_that_leaves_does_not_take_the_rendering_from_others(
    rendered: tuple[Pages, SharedPage],
) -> None:
    _, shared = rendered
    await get(shared)
    leaving, staying = (asyncio.ensure_future(get(shared)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == b"2"


async def test_a_failure_is_that_of_all_who_wait_and_of_nobody_later() -> None:
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
