"""Two layers to test clients against: a node, and the L1 that it settles on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from tests.support.anvil import running_anvil
from tests.support.clients.javascript import Results, run_checks
from tests.support.inprocess_node import inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS

KINDS: Final = ("embedded", "anvil")
"""Where the L1 is: in the same process, or a real one that the node deploys its contracts to."""

OPERATOR_KEY: Final = "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
"""The last development account, which none of the clients uses."""


class Layers(NamedTuple):
    """URLs of both layers, and the contracts on L1."""

    url: str
    l1_url: str
    contracts: dict[str, str]


@contextlib.contextmanager
def running_layers(kind: str, *more: str) -> Iterator[Layers]:
    """Start a node with an L1 of this kind, and `more` arguments, and stop both at the end."""
    with contextlib.ExitStack() as cleanup:
        info = Path(cleanup.enter_context(TemporaryDirectory())) / "facts.json"
        arguments = ["--config-out", str(info), *more]
        if kind == "anvil":
            anvil = cleanup.enter_context(running_anvil())
            arguments += ["--l1-url", anvil.url, "--deploy-l1", "--operator-key", OPERATOR_KEY]
            arguments += DEVELOPMENT_FLAGS
            arguments += ["--l1-confirmations", "0"]
        cleanup.enter_context(inprocess_node(*arguments, info=info))
        known: dict[str, Any] = json.loads(info.read_text(encoding="utf-8"))
        yield Layers(known["http_url"], known["l1"]["http_url"], known["l1"]["contracts"])


def run_on_each(name: str, kinds: tuple[str, ...]) -> Mapping[str, Results]:
    """Run a file of checks on these kinds of L1, concurrently since it mostly waits, and return the problems."""

    def run(kind: str) -> Results:
        with running_layers(kind) as layers:
            return run_checks(name, layers.url, layers.l1_url)

    with ThreadPoolExecutor() as pool:
        return dict(zip(kinds, pool.map(run, kinds), strict=True))
