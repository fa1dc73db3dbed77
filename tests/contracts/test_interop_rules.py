"""The page about messages between chains names a test for each rule, and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "reports" / "interop.md").read_text(encoding="utf-8")
ROWS = [it for it in PAGE.splitlines() if it.startswith("| ") and not it.startswith("| rule")]
NAMED = re.compile(r"`([CIU])/([\w/]+\.py)::(\w+)`")
FOLDERS = {"C": "contracts", "I": "integration", "U": "unit"}


def test_every_rule_names_its_tests() -> None:
    assert ROWS
    assert [row for row in ROWS if not NAMED.search(row)] == []


def test_every_test_that_the_page_names_exists() -> None:
    missing = [
        f"{path}::{test}"
        for folder, path, test in NAMED.findall(PAGE)
        if f"\ndef {test}(" not in (TESTS / FOLDERS[folder] / path).read_text(encoding="utf-8")
    ]
    assert missing == []
