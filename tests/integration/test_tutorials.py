"""The programs of the tutorials print what the tutorials show.

tests/packaging runs those of the first one, and test_readme.py those of the one by hand.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from tests.support.docs.pages import ADDRESS, ROOT, blocks_of, run_program
from tests.support.inprocess_node import inprocess_node

L1_ADDRESS: Final = "127.0.0.1:8545"

pytestmark = pytest.mark.clients

BY_HAND: Final = "docs/tutorials/by-hand.md"
PAGES: Final = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "tutorials").glob("*.md")
)
TUTORIALS: Final = [
    page
    for page in PAGES
    if page != BY_HAND and any(block.language == "js" for block in blocks_of(page))
]


@pytest.mark.parametrize("page", TUTORIALS)
def test_the_parts_of_a_tutorial_print_what_it_shows(page: str) -> None:
    parts = [block for block in blocks_of(page) if block.language == "js"]
    expected = "".join(part.output or "" for part in parts)
    with inprocess_node() as node:
        program = "\n".join(part.text for part in parts).replace(f"http://{ADDRESS}", node.url)
        assert run_program("js", program) == (expected.strip(), "")


def test_the_page_for_users_of_anvil_prints_what_it_shows(tmp_path: Path) -> None:
    blocks = list(blocks_of("docs/tutorials/from-anvil.md"))
    assert [block.text for block in blocks[:2]] == ["entresol anvil --accounts 3\n", "entresol\n"]
    info = tmp_path / "node.json"
    with inprocess_node("--config-out", str(info), info=info) as node:
        l1_url = json.loads(info.read_text(encoding="utf-8"))["l1"]["http_url"]
        for block in blocks[2:]:
            text = block.text.replace(f"http://{ADDRESS}", node.url)
            shown = run_program("sh", text.replace(f"http://{L1_ADDRESS}", l1_url))
            assert shown == ((block.output or "").strip(), "")


def test_the_page_of_a_gas_token_prints_what_it_shows(tmp_path: Path) -> None:
    blocks = list(blocks_of("docs/tutorials/own-gas-token.md"))
    (start,) = [block.text for block in blocks if block.language == "sh"]
    made = re.fullmatch(r"make run ARGS='(.+)'\n", start)
    assert made is not None
    parts = [block for block in blocks if block.language == "python"]
    info = tmp_path / "node.json"
    with inprocess_node(*made[1].split(), "--config-out", str(info), info=info) as node:
        l1_url = json.loads(info.read_text(encoding="utf-8"))["l1"]["http_url"]
        program = "\n".join(part.text for part in parts).replace(f"http://{ADDRESS}", node.url)
        shown = run_program("python", program.replace(f"http://{L1_ADDRESS}", l1_url))
    assert shown == ("".join(part.output or "" for part in parts).strip(), "")


def test_the_chains_of_the_page_of_a_gas_token_start(tmp_path: Path) -> None:
    blocks = blocks_of("docs/tutorials/own-gas-token.md")
    (tables,) = [block for block in blocks if block.title == "two.toml"]
    file, info = tmp_path / tables.title, tmp_path / "node.json"
    file.write_text(tables.text, encoding="utf-8")
    with inprocess_node("--config", str(file), "--config-out", str(info), info=info):
        chains = json.loads(info.read_text(encoding="utf-8"))["chains"]
    assert [(chain["chain_id"], chain["base_token"]["symbol"]) for chain in chains] == [
        (270, "ETH"),
        (271, "ZOO"),
    ]


@pytest.mark.parametrize("page", ["docs/tutorials/between-chains.md", "docs/interop.md"])
def test_the_pages_of_several_chains_print_what_they_show(page: str) -> None:
    parts = [block for block in blocks_of(page) if block.language == "python"]
    expected = "".join(part.output or "" for part in parts)
    assert run_program("python", "\n".join(part.text for part in parts)) == (expected.strip(), "")


@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_starts_a_node_as_the_readme_does(page: str) -> None:
    assert {block.text for block in blocks_of(page) if block.language == "sh"} == {"make run\n"}
