"""The README's commands and programs, run as they stand there."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple

import pytest

from tests.integration.nodes import RunningNode, running_node

ROOT: Final = Path(__file__).resolve().parents[2]
ADDRESS: Final = "127.0.0.1:3050"
BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

MACHINE: Final = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "")
CAST: Final = (
    ROOT / f"tests/node_modules/@foundry-rs/cast-{platform.system().lower()}-{MACHINE}/bin"
)


class Block(NamedTuple):
    """A fenced block, and the output that the next block shows."""

    language: str
    text: str
    output: str | None


def blocks() -> Iterator[Block]:
    """Yield the blocks of the README in order, those that show output with the one before."""
    found = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    for (language, text), (following, output) in pairwise([*found, ("", "")]):
        if language != "text":
            yield Block(language, text, output if following == "text" else None)


def programs() -> list[Block]:
    """Return the blocks that talk to a node."""
    return [block for block in blocks() if ADDRESS in block.text]


@pytest.fixture(scope="module")
def command() -> list[str]:
    """Return what `make run` starts, without building anything."""
    run = next(block.text.strip() for block in blocks() if block.text.startswith("make run"))
    # What a make above us was given is not for this one.
    environment = {
        name: value for name, value in os.environ.items() if name != "ARGS" and "MAKE" not in name
    }
    shown = subprocess.run(
        [*run.split(), "--dry-run"], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    (line,) = (it for it in shown.stdout.decode().splitlines() if "-m entresol" in it)
    return line.split()


@pytest.fixture
def node(command: list[str]) -> Iterator[RunningNode]:
    with running_node(command=[str(ROOT / command[0]), *command[1:]]) as running:
        yield running


def test_every_block_is_of_a_kind_that_is_run() -> None:
    assert {block.language for block in blocks()} == {"sh", "python"}
    # Python that is no program is a session, which tests/unit/test_readme.py replays.
    others = [it.text for it in blocks() if ADDRESS not in it.text and ">>>" not in it.text]
    assert others == ["make run\n", "make test\n"]


def test_ci_runs_what_the_readme_says() -> None:
    *_, last = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"exec make .* test", last)


@pytest.mark.clients
@pytest.mark.parametrize("block", programs(), ids=lambda it: it.text.split()[0])
def test_a_program_prints_what_the_readme_shows(node: RunningNode, block: Block) -> None:
    if block.text.startswith("curl") and which("curl") is None:
        pytest.skip("there is no curl")
    assert block.output is not None
    text = block.text.replace(ADDRESS, node.url.removeprefix("http://"))
    start = [sys.executable, "-c"] if block.language == "python" else ["sh", "-euc"]
    environment = os.environ | {"PATH": f"{CAST}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        [*start, text], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.stdout.strip(), ran.stderr) == (block.output.strip(), "")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/architecture.md"])
def test_every_link_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    missing = [it for it in targets if not ((ROOT / page).parent / it).exists()]
    assert missing == []


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_the_index_lists_every_page(name: str) -> None:
    assert f"](docs/{name})" in (ROOT / "README.md").read_text(encoding="utf-8")
