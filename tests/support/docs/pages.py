"""Programs on pages of the docs, with the output that the pages show."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.clients.javascript import node_program
from tests.support.polling import PATIENCE_SECONDS

ROOT: Final = Path(__file__).resolve().parents[3]
ADDRESS: Final = "127.0.0.1:3050"

_BLOCK: Final = re.compile(r"^```(\w*)(?: title=\"(.+?)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^## ", re.MULTILINE)
_MACHINE: Final = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "")
_CAST: Final = (
    ROOT / f"tests/node_modules/@foundry-rs/cast-{platform.system().lower()}-{_MACHINE}/bin"
)


class Block(NamedTuple):
    """A fenced block, and the output that the next block shows."""

    language: str
    text: str
    output: str | None
    title: str = ""
    """The file that it is saved as; empty if it is run as it is."""


def blocks_of(page: str) -> Iterator[Block]:
    """Yield the blocks of a page in order, those that show output with the one before."""
    yield from _blocks_in((ROOT / page).read_text(encoding="utf-8"))


def _blocks_in(text: str) -> Iterator[Block]:
    found = _BLOCK.findall(text)
    for (language, title, code), (following, _, output) in pairwise([*found, ("", "", "")]):
        if language != "text":
            yield Block(language, code, output if following == "text" else None, title)


def recipes_of(page: str) -> dict[str, list[Block]]:
    """Return the blocks below each heading of the second level that has some."""
    recipes: dict[str, list[Block]] = {}
    for part in _HEADING.split((ROOT / page).read_text(encoding="utf-8"))[1:]:
        name, _, text = part.partition("\n")
        recipes[name] = list(_blocks_in(text))
    return recipes


def run_program(language: str, text: str) -> tuple[str, str]:
    """Run a program where JavaScript finds the packages of the tests, and return its output and errors."""
    ran = subprocess.run(
        [*_start_of(language), text],
        cwd=ROOT / "tests",
        env=os.environ | {"PATH": f"{_CAST}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return ran.stdout.strip(), ran.stderr


def _start_of(language: str) -> list[str]:
    return {
        "python": [sys.executable, "-c"],
        "sh": ["sh", "-euc"],
        "js": [node_program(), "--input-type=module", "--eval"],
    }[language]
