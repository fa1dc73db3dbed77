"""The first tutorial by its words: from the wheel to a finalized withdrawal, without Rust and without a clone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.docs.pages import Block, blocks_of
from tests.support.node_process import running_node
from tests.support.packages.distribution import built, commit_in, newcomer_environment, run_shell

TUTORIAL: Final = "docs/tutorials/first-deposit.md"
START: Final = "entresol\n"
URL: Final = "http://127.0.0.1:3050"
L1_URL: Final = "http://127.0.0.1:8545"


def steps() -> tuple[list[Block], list[Block]]:
    """Return what the tutorial does before it starts the node, and after."""
    blocks = list(blocks_of(TUTORIAL))
    (start,) = (at for at, block in enumerate(blocks) if block.text == START)
    return blocks[:start], blocks[start + 1 :]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return newcomer_environment(tmp_path, built("*.whl"))


@pytest.mark.slow
@pytest.mark.clients
def test_the_tutorial_leads_from_the_wheel_to_a_finalized_withdrawal(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    before, after = steps()
    install = "\n".join(block.text for block in before)
    printed = run_shell(install, tmp_path, environment)
    assert commit_in(built("*.whl")) in printed.splitlines()[-1]
    place = run_shell(
        "tour/bin/python -c 'import entresol; print(entresol.__file__)'", tmp_path, environment
    )
    assert place.startswith(str(tmp_path / "tour"))
    info = tmp_path / "node.json"
    command = [str(tmp_path / "tour" / "bin" / START.strip()), "--config-out", str(info)]
    with running_node(command=command, environment=environment, info=info):
        urls = json.loads(info.read_text(encoding="utf-8"))
        for shown, expected in outputs(after, tmp_path, environment, urls):
            assert shown == expected


def outputs(
    blocks: list[Block], folder: Path, environment: dict[str, str], urls: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Save and run the blocks in a terminal, and yield what each prints and what the page shows."""
    terminal = ""
    for block in blocks:
        if block.title:
            text = block.text.replace(URL, urls["http_url"])
            text = text.replace(L1_URL, urls["l1"]["http_url"])
            (folder / block.title).write_text(text, encoding="utf-8")
            continue
        printed = run_shell(terminal + block.text, folder, environment)
        # What activates the environment holds for the commands behind it.
        terminal += "".join(f"{line}\n" for line in block.text.splitlines() if line[0] == ".")
        yield printed, block.output or ""
