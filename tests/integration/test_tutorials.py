"""The programs of the tutorials print what the tutorials show; tests/packaging runs those of the first one."""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.docs.pages import ADDRESS, ROOT, blocks_of, run_program
from tests.support.node_process import running_node

pytestmark = pytest.mark.clients

PAGES: Final = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "tutorials").glob("*.md")
)
TUTORIALS: Final = [
    page for page in PAGES if any(block.language == "js" for block in blocks_of(page))
]


@pytest.mark.parametrize("page", TUTORIALS)
def test_the_parts_of_a_tutorial_print_what_it_shows(page: str) -> None:
    parts = [block for block in blocks_of(page) if block.language == "js"]
    expected = "".join(part.output or "" for part in parts)
    with running_node() as node:
        program = "\n".join(part.text for part in parts).replace(f"http://{ADDRESS}", node.url)
        assert run_program("js", program) == (expected.strip(), "")


@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_starts_a_node_as_the_readme_does(page: str) -> None:
    assert {block.text for block in blocks_of(page) if block.language == "sh"} == {"make run\n"}
