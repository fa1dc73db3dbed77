"""Settings of the garbage collector: how long a collection holds all threads."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.node.startup.process_start import CLIENT, collect_less, names_remote
from entresol.primitives.values import Hash32

MAX_SECONDS = 0.02
"""Of one collection of objects that a request has made: a quarter of that on a slow machine."""
WORDS = 230_000
"""As many as fit into a body."""


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_no_collection_visits_all_values_of_a_long_request() -> None:
    collect_less()
    longest = started = 0.0

    def measure(phase: str, info: dict[str, Any]) -> None:
        nonlocal longest, started
        if phase == "start":
            started = time.thread_time()
        elif info["generation"] < 2:
            longest = max(longest, time.thread_time() - started)

    gc.callbacks.append(measure)
    try:
        words = [Hash32(bytes(32)) for _ in range(WORDS)]
    finally:
        gc.callbacks.remove(measure)
    assert len(words) == WORDS
    assert longest < MAX_SECONDS


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


def test_a_start_imports_nothing_that_only_some_nodes_need() -> None:
    """Look in a process of its own, because here everything is imported."""
    program = (
        "import sys, entresol.__main__, entresol.terminal.log, entresol.node.startup.banner,"
        " entresol.node.build_node;"
        f"assert not sys.modules.keys() & {set(NOT_NEEDED)}, sys.modules.keys() & {set(NOT_NEEDED)}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_wrong_flag_is_reported_while_the_client_is_imported() -> None:
    command = [sys.executable, "-m", "entresol", "anvil", "--fork-url", "x", "--fork-block-numbr", "1"]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "--fork-block-numbr" in ran.stderr
    assert "Traceback" not in ran.stderr
