"""What a start imports: the client of remotes ahead of the rest, and nothing that only some nodes need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from entresol.node.startup.import_ahead import CLIENT, names_remote

NOT_NEEDED = (CLIENT, "importlib.metadata", "tomllib", "websockets", "web3", "asyncpg")
"""What a node without a remote, a file of settings and a WebSocket does not need; together as long as half its start."""


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        (["entresol", "anvil", "--fork-url", "http://127.0.0.1:1"], {}),
        (["entresol", "anvil", "-f", "http://127.0.0.1:1"], {}),
        (["entresol", "--l1-fork-url=http://127.0.0.1:1"], {}),
        (["entresol", "--l1-url", "http://127.0.0.1:1"], {}),
        (["entresol"], {"ENTRESOL_FORK_URL": "http://127.0.0.1:1"}),
    ],
)
def test_a_command_that_names_a_remote_imports_its_client_ahead(
    words: list[str], environment: dict[str, str]
) -> None:
    assert names_remote(words, environment)


@pytest.mark.parametrize("words", [["entresol"], ["entresol", "anvil", "--fork-url-is-none"]])
def test_other_commands_do_not(words: list[str]) -> None:
    assert not names_remote(words, {"ENTRESOL_PORT": "0"})


@pytest.mark.parametrize("recipe", ["layer_one_parts", "ecosystem"])
def test_a_start_imports_nothing_that_only_some_nodes_need(recipe: str) -> None:
    """Look in a process of its own, because here everything is imported."""
    program = (
        "import sys, entresol.__main__, entresol.terminal.log, entresol.node.startup.banner,"
        f" entresol.node.recipes.{recipe};"
        f"assert not sys.modules.keys() & {set(NOT_NEEDED)}, sys.modules.keys() & {set(NOT_NEEDED)}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_wrong_flag_is_reported_while_the_client_is_imported() -> None:
    command = [sys.executable, "-m", "entresol", "anvil", "--fork-url", "x", "--fork-block-numbr", "1"]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "--fork-block-numbr" in ran.stderr
    assert "Traceback" not in ran.stderr
