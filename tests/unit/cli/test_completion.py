from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from entresol.cli.completion import script
from entresol.cli.parsers import PARSERS, SHELLS
from tests.support.polling import PATIENCE_SECONDS

COMPLETED: Final = {
    "veri": "verify",
    "--l1-por": "--l1-port",
    "--port 1 --l1-por": "--port 1 --l1-port",
    "run --l1-hardfork can": "run --l1-hardfork cancun",
    "anvil --hardf": "anvil --hardfork",
    "cluster unw": "cluster unwind",
    "cluster init --l1-por": "cluster init --l1-port",
    "completion fi": "completion fish",
}
"""What is typed before the tabulator, and what the line is after it."""

SETUP: Final = {
    "bash": "bind 'set enable-bracketed-paste off'",
    "zsh": "autoload -U compinit; compinit -D -u",
}
START: Final = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-fi"]}


@pytest.mark.parametrize("typed", COMPLETED)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_tabulator_completes_the_line(shell: str, typed: str, tmp_path: Path) -> None:
    assert after_tabulator(shell, typed, written(shell, tmp_path)) == COMPLETED[typed]


@pytest.mark.parametrize("typed", COMPLETED)
def test_fish_offers_the_one_word_that_fits(typed: str, tmp_path: Path) -> None:
    path = written("fish", tmp_path)
    offered = f"source {path}; complete -C 'entresol {typed}'"
    command = ["fish", "--no-config", "-c", offered]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = ran.stdout.splitlines()
    before, _, _ = typed.rpartition(" ")
    assert f"{before} {line.partition(chr(9))[0]}".strip() == COMPLETED[typed]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_has_every_flag_of_every_command(shell: str) -> None:
    text = script(shell)
    for parser in PARSERS.values():
        for argument in parser().arguments():
            assert all(flag.lstrip("-") in text for flag in argument.flags)


def written(shell: str, folder: Path) -> Path:
    """Write the script of a shell into a folder, and return its path; skip if there is no such shell."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    path = folder / f"entresol.{shell}"
    path.write_text(script(shell), encoding="utf-8")
    return path


def after_tabulator(shell: str, typed: str, completions: Path) -> str:
    """Type in a terminal, with a tabulator and a line feed behind it, and return the arguments that arrive."""
    arriving = "entresol() { printf 'arrived:%s:\\n' \"$*\"; }"
    setup = f"{SETUP[shell]}; source {completions}; {arriving}; echo rea''dy\n"
    terminal, inside = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "PS1": "> "}
    with subprocess.Popen(
        START[shell],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env=environment,
        start_new_session=True,
    ) as process:
        os.close(inside)
        os.write(terminal, setup.encode())
        read_until(terminal, b"\nready")
        os.write(terminal, f"entresol {typed}\t\n".encode())
        output = read_until(terminal, b"\narrived:", b":\r")
        process.kill()
    os.close(terminal)
    return output.rpartition("arrived:")[2].partition(":\r")[0]


def read_until(terminal: int, *marks: bytes) -> str:
    """Read what a terminal shows until the marks have appeared, one behind the other."""
    shown = b""
    rest = shown
    for mark in marks:
        while mark not in rest:
            assert select.select([terminal], [], [], PATIENCE_SECONDS)[0], shown
            shown += os.read(terminal, 1 << 16)
            rest = shown
        rest = rest.partition(mark)[2]
    return shown.decode()
