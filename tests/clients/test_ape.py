"""The plugin of Ape: its example passes on a node of its own, on one that runs, and on a fork."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from tests.support.clients.layers import running_layers
from tests.support.clients.tools import PLUGIN, TOOLS_PYTHON, needs_tools, python_tools
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rpc_client import HttpRpcClient

pytestmark = [pytest.mark.clients, pytest.mark.slow, needs_tools]

EXAMPLE: Final = PLUGIN / "example"
NOBODY: Final = "0x00000000000000000000000000000000DeaDBeef"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project"))


def ape_test(project: Path, *arguments: str, config: str = "") -> str:
    """Run `ape test` in a project with further configuration, and return what it printed."""
    with (project / "ape-config.yaml").open("a", encoding="utf-8") as file:
        file.write(config)
    ran = subprocess.run(
        [str(TOOLS_PYTHON.with_name("ape")), "test", *arguments],
        cwd=project,
        env=python_tools(project.parent / "home"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_its_example_passes_on_a_node_of_its_own(project: Path) -> None:
    assert " passed" in ape_test(project)


def test_its_example_passes_on_a_node_that_runs(project: Path) -> None:
    with running_layers("embedded") as layers:
        config = f"entresol:\n  uri: {layers.url}\n  l1_uri: {layers.l1_url}\n"
        assert " passed" in ape_test(project, config=config)


def test_its_example_passes_on_the_second_of_two_chains(project: Path) -> None:
    config = "entresol:\n  node:\n    chains: [{ chain_id: 6565 }, { chain_id: 6566 }]\n"
    assert " passed" in ape_test(project, "--network", "entresol:l2-2", config=config)


def test_a_fork_has_what_its_remote_has(project: Path) -> None:
    (project / "tests" / "test_layers.py").write_text(
        f"def test_an_account(accounts):\n    assert accounts['{NOBODY}'].balance == 77\n"
    )
    with running_layers("embedded") as layers:
        with closing(HttpRpcClient(layers.l1_url)) as l1:
            l1("anvil_setBalance", NOBODY, hex(77))
            l1("anvil_mine")
        config = f"entresol:\n  fork:\n    l1_fork_url: {layers.l1_url}\n"
        assert "1 passed" in ape_test(project, "--network", "entresol:l1-fork", config=config)


def test_a_setting_that_does_not_exist_is_named(project: Path) -> None:
    with pytest.raises(AssertionError, match=r"entresol\.chains: there is no such setting"):
        ape_test(project, config="entresol:\n  chains: 2\n")
