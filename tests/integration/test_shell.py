"""`entresol shell`, typed into a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.polling import PATIENCE_SECONDS

SHELL: Final = (sys.executable, "-m", "entresol", "shell")
PROMPT: Final = re.compile(r">>> |In \[\d+\]: ")
WITHOUT_IPYTHON: Final = "import sys; sys.modules['IPython'] = None"
WITHOUT_WEB3: Final = "import sys; sys.modules['web3'] = None"


class Terminal:
    """A terminal that a program runs in."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self.shown = ""

    def type(self, line: str) -> str:
        """Type a line, and return what is shown until the next prompt."""
        os.write(self._terminal, line.encode() + b"\n")
        return self.until_prompt()

    def until_prompt(self) -> str:
        """Return what is shown until the next prompt."""
        return self._until(lambda: PROMPT.search(self.shown) is not None)

    def until_end(self) -> str:
        """Return what is shown until the program ends."""
        return self._until(lambda: False)

    def _until(self, done: Callable[[], bool]) -> str:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not done():
            assert time.monotonic() < deadline, self.shown
            if select.select([self._terminal], [], [], 1.0)[0]:
                try:
                    self.shown += os.read(self._terminal, 1 << 16).decode()
                except OSError:
                    # The program has closed its end.
                    break
        shown, self.shown = self.shown, ""
        return shown


@contextmanager
def shell(path: Path, *arguments: str, before: str = WITHOUT_IPYTHON) -> Iterator[Terminal]:
    """Start the console in a terminal; the interpreter executes `before` first."""
    (path / "sitecustomize.py").write_text(before, encoding="utf-8")
    paths = os.pathsep.join((str(path), os.environ.get("PYTHONPATH", "")))
    terminal, inner = pty.openpty()
    process = subprocess.Popen(
        [*SHELL, *arguments],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        env=os.environ | {"PYTHONPATH": paths, "TERM": "dumb", "HOME": str(path)},
        start_new_session=True,
    )
    os.close(inner)
    try:
        yield Terminal(process, terminal)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def test_both_layers_accounts_and_bridge_are_there(tmp_path: Path) -> None:
    with shell(tmp_path) as terminal:
        banner = terminal.until_prompt()
        assert "L1: http://127.0.0.1:" in banner
        assert "chain 270" in banner
        assert "270" in terminal.type("l2.eth.chain_id")
        assert "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266" in terminal.type("accounts[0].address")
        terminal.type("done = bridge.deposit(ether, to=accounts[1].address)")
        assert "10001" in terminal.type("l2.eth.get_balance(accounts[1].address) // ether")
        assert "31337" in terminal.type("l1.eth.chain_id")
        os.write(terminal._terminal, b"exit()\n")
        assert "Traceback" not in terminal.until_end()
        assert terminal.process.wait(PATIENCE_SECONDS) == 0


def test_flags_and_the_configuration_file_are_those_of_a_node(tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    file.write_text("[chain]\nchain_id = 77\n")
    with shell(tmp_path, "--no-l1", "--config", str(file)) as terminal:
        assert "bridge" not in terminal.until_prompt()
        assert "77" in terminal.type("l2.eth.chain_id")
        assert "False" in terminal.type("'l1' in dir()")
        # Ctrl-D
        os.write(terminal._terminal, b"\x04")
        terminal.until_end()
        assert terminal.process.wait(PATIENCE_SECONDS) == 0


def test_without_web3_it_says_what_to_install(tmp_path: Path) -> None:
    with shell(tmp_path, before=WITHOUT_WEB3) as terminal:
        shown = terminal.until_end()
        assert shown.strip() == "error: this needs web3.py: pip install 'entresol[testing]'"
        assert terminal.process.wait(PATIENCE_SECONDS) == 2
