"""The pages for people who test in Python: their tests pass or fail, and their programs print, as they say."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from tests.support.clients.tools import PytestRuns
from tests.support.docs.pages import Block, blocks_of, run_program

pytestmark = pytest.mark.clients

TESTING: Final = "docs/testing.md"
ETH_TESTER: Final = "docs/eth-tester.md"


def files_of(page: str) -> list[Block]:
    return [block for block in blocks_of(page) if block.title]


def write(runs: PytestRuns, blocks: list[Block]) -> None:
    for block in blocks:
        path = runs.folder / block.title
        path.parent.mkdir(exist_ok=True)
        path.write_text(block.text, encoding="utf-8")


def summary_of(output: str) -> str:
    return output.strip().splitlines()[-1].partition(" in ")[0]


def test_the_tests_of_the_tutorial_pass(tmp_path: Path) -> None:
    runs = PytestRuns(tmp_path)
    write(runs, [block for block in files_of(TESTING) if block.output is None])
    ran = runs.run("-q", "chain", "test_bridge.py", "ecosystem", ".")
    assert summary_of(ran.stdout) == "11 passed", ran.stdout


def test_wrong_tests_of_the_tutorial_show_what_it_says(tmp_path: Path) -> None:
    runs = PytestRuns(tmp_path)
    wrong = [block for block in files_of(TESTING) if block.output is not None]
    write(runs, [block for block in files_of(TESTING) if block.title == "conftest.py"] + wrong)
    ran = runs.run("-q")
    assert summary_of(ran.stdout) == f"{len(wrong)} failed", ran.stdout
    expected = [line for block in wrong for line in (block.output or "").splitlines()]
    assert [line for line in expected if line not in ran.stdout] == []


PROGRAMS: Final = [
    block for block in blocks_of(TESTING) if block.language == "python" and not block.title
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_prints_what_the_page_shows(number: int) -> None:
    program = PROGRAMS[number]
    assert run_program("python", program.text) == ((program.output or "").strip(), "")


def test_the_tests_of_the_page_for_users_of_eth_tester_pass(tmp_path: Path) -> None:
    if find_spec("eth_tester") is None:
        pytest.skip("eth-tester is not installed: make install")
    runs = PytestRuns(tmp_path)
    write(runs, files_of(ETH_TESTER))
    # py-evm's own warnings are not ours.
    ran = runs.run("-q", "-W", "default")
    assert summary_of(ran.stdout).startswith("3 passed"), ran.stdout


def test_the_two_lines_are_those_of_the_test() -> None:
    (change,) = [block.text for block in blocks_of(ETH_TESTER) if block.language == "diff"]
    removed = [line[1:] for line in change.splitlines() if line.startswith("-")]
    assert removed == [
        "from web3 import EthereumTesterProvider, Web3",
        "w3 = Web3(EthereumTesterProvider())",
    ]
