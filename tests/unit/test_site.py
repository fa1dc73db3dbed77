from __future__ import annotations

import pytest

from docs.tools.site import staged_text

NAMES = {
    "README.md": "index.md",
    "docs/a.md": "a.md",
    "docs/tutorials/b.md": "tutorials/b.md",
    "docs/images/c.svg": "images/c.svg",
}


@pytest.mark.parametrize(
    ("path", "text", "staged"),
    [
        ("README.md", "[a](docs/a.md)", "[a](a.md)"),
        ("README.md", "[b](docs/tutorials/b.md#part)", "[b](tutorials/b.md#part)"),
        ("README.md", '<img src="docs/images/c.svg">', '<img src="images/c.svg">'),
        ("docs/tutorials/b.md", "[home](../../README.md)", "[home](../index.md)"),
        ("docs/a.md", "[a](#part), [else](https://example.org)", "[a](#part), [else](https://example.org)"),
        ("docs/a.md", "see [`x`](../src/x.py) there", "see `x` there"),
        ("docs/a.md", "```\n[x](../src/x.py)\n```\n[x](../src/x.py)", "```\n[x](../src/x.py)\n```\nx"),
    ],
)  # fmt: skip
def test_links_of_a_page_lead_to_where_the_site_has_it(path: str, text: str, staged: str) -> None:
    assert staged_text(text, path, NAMES) == staged
