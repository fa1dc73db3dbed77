"""The README's commands and programs print what it shows."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import Any, Final, NamedTuple

import pytest

from tests.support.clients.javascript import node_program
from tests.support.node_process import running_node
from tests.support.polling import PATIENCE_SECONDS

ROOT: Final = Path(__file__).resolve().parents[2]
ADDRESS: Final = "127.0.0.1:3050"
L1_ADDRESS: Final = "127.0.0.1:8545"
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


def is_session(block: Block) -> bool:
    """Return whether a block is a Python session, which tests/unit/test_docs.py replays."""
    return ">>>" in block.text


def programs() -> list[Block]:
    """Return the programs that call a node; a block without an address continues the one before."""
    found: list[Block] = []
    for block in blocks():
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
    run = next(block.text.strip() for block in blocks() if block.text.startswith("make run"))
    # The arguments of a make above us are not for this one.
    environment = {
        name: value for name, value in os.environ.items() if name != "ARGS" and "MAKE" not in name
    }
    shown = subprocess.run(
        [*run.split(), "--dry-run"], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    (line,) = (it for it in shown.stdout.decode().splitlines() if "-m entresol" in it)
    return line.split()


@pytest.fixture
def info(command: list[str], tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Start a node as the README does, and return its `--config-out`."""
    path = tmp_path / "node.json"
    started = [str(ROOT / command[0]), *command[1:], "--config-out", str(path)]
    with running_node(command=started, info=path):
        yield json.loads(path.read_text(encoding="utf-8"))


def test_every_block_is_of_a_kind_that_is_run() -> None:
    assert {block.language for block in blocks()} == {"sh", "python", "js"}
    run = "".join(program.text for program in programs())
    others = [it.text for it in blocks() if it.text not in run and not is_session(it)]
    assert others == ["make run\n", "make test\n"]


def test_ci_runs_what_the_readme_says() -> None:
    *_, last = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"exec make .* test", last)


def test_what_running_installs_is_what_was_tested() -> None:
    run, dev = (
        {line.split()[0] for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line}
        for name in ("requirements.txt", "requirements-dev.txt")
    )
    assert run < dev


def start_of(language: str) -> list[str]:
    """Return the command that takes a program of a language as its argument."""
    return {
        "python": [sys.executable, "-c"],
        "sh": ["sh", "-euc"],
        "js": [node_program(), "--input-type=module", "--eval"],
    }[language]


@pytest.mark.clients
@pytest.mark.parametrize("block", programs(), ids=name_of)
def test_a_program_prints_what_the_readme_shows(info: dict[str, Any], block: Block) -> None:
    if block.text.startswith("curl") and which("curl") is None:
        pytest.skip("there is no curl")
    assert block.output is not None
    text = block.text.replace(f"http://{ADDRESS}", info["http_url"])
    text = text.replace(f"http://{L1_ADDRESS}", info["l1"]["http_url"])
    ran = subprocess.run(
        [*start_of(block.language), text],
        # Where JavaScript finds the packages of the tests.
        cwd=ROOT / "tests",
        env=os.environ | {"PATH": f"{CAST}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (ran.stdout.strip(), ran.stderr) == (block.output.strip(), "")


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_the_index_lists_every_page(name: str) -> None:
    assert f"](docs/{name})" in (ROOT / "README.md").read_text(encoding="utf-8")
