"""The commands and programs of the README and of the tutorial by hand print what the pages show."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any, Final

import pytest

from tests.support.docs.pages import ADDRESS, ROOT, Block, blocks_of, run_program
from tests.support.inprocess_node import inprocess_node

L1_ADDRESS: Final = "127.0.0.1:8545"

README: Final = "README.md"
BY_HAND: Final = "docs/tutorials/by-hand.md"
LANGUAGES: Final = {README: {"sh", "python"}, BY_HAND: {"sh", "python", "js"}}
OTHERS: Final = {README: ["make run\n", "make test\n"], BY_HAND: ["make run\n"]}
"""Blocks that are neither programs nor sessions."""


def is_session(block: Block) -> bool:
    """Return whether a block is a Python session, which tests/unit/test_docs.py replays."""
    return ">>>" in block.text


def programs(page: str) -> list[Block]:
    """Return the programs of a page that call a node; a block without an address continues the one before."""
    found: list[Block] = []
    for block in blocks_of(page):
        if ADDRESS in block.text:
            found.append(block)
        elif found and block.language == found[-1].language and block.output is not None:
            start = found.pop()
            text, output = f"{start.text}\n{block.text}", f"{start.output}{block.output}"
            found.append(Block(start.language, text, output))
    return found


def name_of(block: Block) -> str:
    """Return the id of a program: its language, and the first word that it prints."""
    return f"{block.language}: {(block.output or '').split()[0]}"


@pytest.fixture(scope="module")
def command() -> list[str]:
    """Return the command that `make run` runs, without building anything."""
    run = next(
        block.text.strip() for block in blocks_of(README) if block.text.startswith("make run")
    )
    # The arguments of a make above us are not for this one.
    environment = {
        name: value for name, value in os.environ.items() if name != "ARGS" and "MAKE" not in name
    }
    shown = subprocess.run(
        [*run.split(), "--dry-run"], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    (line,) = (line for line in shown.stdout.decode().splitlines() if "-m entresol" in line)
    return line.split()


@pytest.fixture
def info(command: list[str], tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Start a node as the README does, and return its `--config-out`."""
    path = tmp_path / "node.json"
    flags = command[command.index("entresol") + 1 :]
    with inprocess_node(*flags, "--config-out", str(path), info=path):
        yield json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [README, BY_HAND])
def test_every_block_is_of_a_kind_that_is_run(page: str) -> None:
    blocks = list(blocks_of(page))
    assert {block.language for block in blocks} == LANGUAGES[page]
    run = "".join(program.text for program in programs(page))
    others = [block.text for block in blocks if block.text not in run and not is_session(block)]
    assert others == OTHERS[page]


def test_the_readme_is_short() -> None:
    assert len((ROOT / README).read_text(encoding="utf-8").splitlines()) <= 180


def test_ci_runs_what_the_readme_says() -> None:
    *_, last = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"exec make .* test", last)


def test_what_running_installs_is_what_was_tested() -> None:
    run, dev = (
        {line.split()[0] for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line}
        for name in ("requirements.txt", "requirements-dev.txt")
    )
    assert run < dev


@pytest.mark.clients
@pytest.mark.parametrize("block", [*programs(README), *programs(BY_HAND)], ids=name_of)
def test_a_program_prints_what_the_page_shows(info: dict[str, Any], block: Block) -> None:
    if block.text.startswith("curl") and which("curl") is None:
        pytest.skip("there is no curl")
    assert block.output is not None
    text = block.text.replace(f"http://{ADDRESS}", info["http_url"])
    text = text.replace(f"http://{L1_ADDRESS}", info["l1"]["http_url"])
    assert run_program(block.language, text) == (block.output.strip(), "")


def pages() -> list[str]:
    """Return the pages that people read, without the decisions, which have an index of their own."""
    folders = (ROOT / "docs" / name for name in ("", "tutorials", "reports"))
    found = (path.relative_to(ROOT / "docs") for folder in folders for path in folder.glob("*.md"))
    return sorted(str(path) for path in found if path.name != "README.md")


@pytest.mark.parametrize("name", pages())
def test_the_index_lists_every_page(name: str) -> None:
    assert f"]({name})" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
