"""The action for GitHub: its scripts run as a runner runs them, and its files are what GitHub reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from tests.support.docs.pages import ROOT
from tests.support.packages.distribution import INSTALL_SECONDS, built, newcomer_environment
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rpc_client import HttpRpcClient

SCRIPTS: Final = {path.stem: path for path in sorted((ROOT / ".github" / "actions").rglob("*.sh"))}
INPUTS: Final = {"FLAGS": "", "PORT": "0", "L1_PORT": "0", "TIMEOUT": "60"}


class ActionRunner:
    """A runner of GitHub, as far as scripts see it."""

    def __init__(self, folder: Path) -> None:
        self.temp = folder / "temp"
        self.files = {name: folder / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_ENV")}
        self.temp.mkdir(parents=True)
        for file in self.files.values():
            file.touch()

    def run(
        self, script: str, environment: Mapping[str, str] | None = None, **given: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a script of a step."""
        own = {name: str(it) for name, it in self.files.items()} | {"RUNNER_TEMP": str(self.temp)}
        # To a file: the node that a step leaves behind would hold a pipe open.
        log = self.temp / "step.log"
        with log.open("w") as output:
            ran = subprocess.run(
                [str(SCRIPTS[script])],
                env={**(environment or os.environ), **own, **given},
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=INSTALL_SECONDS if script == "install" else PATIENCE_SECONDS,
                check=False,
            )
        return subprocess.CompletedProcess(ran.args, ran.returncode, log.read_text())

    def pretend_installed(self) -> None:
        """Let the package be that of the tests."""
        programs = self.temp / "entresol" / "venv" / "bin"
        programs.mkdir(parents=True)
        for name, arguments in (("python", ""), ("entresol", "-m entresol ")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
            program.chmod(0o755)

    def start(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the step that starts the node."""
        return self.run("start", None, **{**INPUTS, **inputs})

    def written(self, name: str) -> dict[str, str]:
        """Return what the steps have written for later ones."""
        lines = self.files[name].read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[ActionRunner]:
    made = ActionRunner(tmp_path)
    yield made
    made.run("stop")


@pytest.fixture
def installed(runner: ActionRunner) -> ActionRunner:
    runner.pretend_installed()
    return runner


def chain_id(url: str) -> int:
    with closing(HttpRpcClient(url)) as client:
        return int(client("eth_chainId"), 16)


def test_a_node_runs_after_the_step_and_says_where(installed: ActionRunner) -> None:
    ran = installed.start(FLAGS="--chain-id 4242  --base-token 'ZOO'")
    assert ran.returncode == 0, ran.stdout
    outputs, variables = installed.written("GITHUB_OUTPUT"), installed.written("GITHUB_ENV")
    assert outputs.keys() == {"l2-url", "l1-url", "info", "log"}
    assert list(variables.values()) == list(outputs.values())
    assert (chain_id(outputs["l2-url"]), chain_id(variables["DEVNET_L1_URL"])) == (4242, 31337)
    info = json.loads(Path(outputs["info"]).read_text(encoding="utf-8"))
    assert info["base_token"]["symbol"] == "ZOO"
    assert "Layer 2: " + outputs["l2-url"] in ran.stdout


def test_it_stops_once_and_shows_its_log_if_the_job_has_failed(installed: ActionRunner) -> None:
    installed.start()
    url = installed.written("GITHUB_OUTPUT")["l2-url"]
    stopped = installed.run("stop", FAILED="true")
    assert stopped.returncode == 0
    assert "::group::Log of the node" in stopped.stdout
    assert "the node has stopped" in stopped.stdout
    with pytest.raises(ConnectionError):
        chain_id(url)
    assert installed.run("stop", FAILED="false").stdout == "no node runs\n"


def test_a_wrong_flag_fails_with_the_log(installed: ActionRunner) -> None:
    ran = installed.start(FLAGS="--no-such-flag")
    assert ran.returncode == 1
    assert "--no-such-flag" in ran.stdout
    assert "::error title=Entresol::the node has ended with exit code 2" in ran.stdout
    assert installed.written("GITHUB_OUTPUT") == {}


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ({"FLAGS": "--chain-id '1"}, "flags: a quote is not closed"),
        ({"TIMEOUT": "soon"}, "timeout: 'soon' is not a number of seconds"),
        ({"TIMEOUT": "0", "FLAGS": "--chains 3"}, "the node was not ready within 0 seconds"),
    ],
)
def test_a_wrong_input_is_named(
    installed: ActionRunner, inputs: dict[str, str], problem: str
) -> None:
    ran = installed.start(**inputs)
    assert ran.returncode == 1
    assert f"::error title=Entresol::{problem}" in ran.stdout


@pytest.mark.slow
@pytest.mark.clients
def test_a_wheel_is_installed_and_started(runner: ActionRunner, tmp_path: Path) -> None:
    wheel = built("*.whl")
    home = tmp_path / "home"
    home.mkdir()
    environment = newcomer_environment(home, wheel)
    ran = runner.run("install", environment, PYTHON="python3", PACKAGE=str(wheel))
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.splitlines()[-1].startswith("entresol ")
    ran = runner.run("start", environment, **INPUTS)
    assert ran.returncode == 0, ran.stdout
    assert chain_id(runner.written("GITHUB_OUTPUT")["l2-url"]) == 270


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_what_shellcheck_accepts(script: str) -> None:
    program = Path(sys.executable).with_name("shellcheck")
    ran = subprocess.run(
        [program, str(SCRIPTS[script])], capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.returncode) == ("", 0)


def test_flags_are_words_and_no_program(installed: ActionRunner, tmp_path: Path) -> None:
    made = tmp_path / "made"
    ran = installed.start(FLAGS=f"--no-such-flag $(touch {made}) `touch {made}` ; touch {made}")
    assert ran.returncode == 1
    assert not made.exists()
