"""What moving features must not change: the order of parts, flags, methods, keys of `/health` and `/metrics`.

The records are files of `tests/recorded/`; `ENTRESOL_RECORD=1` writes them anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from entresol.node.chain_service import ChainService
from entresol.node.node import Node
from entresol.node.parts.part import Closing, Part
from tests.support.fork.remote_anvil import remote_pair
from tests.support.inprocess_node import inprocess_node, run_command
from tests.support.rollup.recipes import made

FOLDER: Final = Path(__file__).resolve().parents[1] / "recorded"

SET_UPS: Final = {
    "pair": ("--block-time", "1"),
    "layer_2_alone": ("--no-l1",),
    "three_chains": ("--chains", "3", "--relay", "0.1", "--finalize-withdrawals"),
    "anvil": ("anvil",),
    "workers": ("--workers", "2", "--no-explorer"),
    "fork": (),
}
_LABEL: Final = re.compile(r'(\w+)="[^"]*"')


@pytest.mark.parametrize("name", SET_UPS)
def test_a_node_has_the_parts_methods_and_keys_that_are_recorded(name: str) -> None:
    with _started(name) as node:
        found = {
            "parts": [_name_of(part) for part in node.parts],
            **{
                f"service {index}": _described(service)
                for index, service in enumerate(node.services)
            },
        }
    _compare(f"{name}.json", json.dumps(found, indent=1) + "\n")


@pytest.mark.parametrize("recipe", ["remote", "member", "worker"])
def test_a_node_beside_others_has_the_parts_that_are_recorded(recipe: str, tmp_path: Path) -> None:
    async def play() -> list[str]:
        async with made(recipe, tmp_path) as node:
            names = [_name_of(part) for part in node.parts]
            await node.stop()
            return names

    _compare(f"{recipe}.json", json.dumps({"parts": asyncio.run(play())}, indent=1) + "\n")


@pytest.mark.parametrize("command", ["--help", "--help-all", "anvil --help", "anvil --help-all"])
def test_the_help_has_the_flags_that_are_recorded(command: str) -> None:
    shown = run_command(*command.split(), COLUMNS="120", NO_COLOR="1")
    _compare(f"{command.replace(' --', '_').strip('-')}.txt", shown.stdout)


@contextlib.contextmanager
def _started(name: str) -> Iterator[Node]:
    with contextlib.ExitStack() as stack:
        flags = SET_UPS[name]
        if name == "fork":
            remotes = stack.enter_context(remote_pair())
            flags = ("--fork-url", remotes.l2.url, "--l1-fork-url", remotes.l1.url)
        yield stack.enter_context(inprocess_node(*flags)).node


def _described(service: ChainService) -> dict[str, Any]:
    _, _, health = service.health_page()
    _, _, metrics = service.rendered_metrics(service.chain_metrics() + service.process_metrics())
    methods = service.api.dispatcher.openrpc()["methods"]
    return {
        "health": sorted(_keys(json.loads(health))),
        "metrics": sorted(
            {
                _LABEL.sub(r"\1", line.rsplit(" ", 1)[0])
                for line in metrics.decode().splitlines()
                if not line.startswith("#")
            }
        ),
        "pages": sorted(service.pages),
        "methods": {method["name"]: _digest(method) for method in methods},
    }


def _keys(fields: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in fields.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _keys(value, f"{prefix}{key}.")


def _digest(method: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(method, sort_keys=True).encode()).hexdigest()[:12]


def _name_of(part: Part) -> str:
    if isinstance(part, Closing):
        return f"Closing {part._close.__qualname__}"
    return type(part).__name__


def _compare(name: str, found: str) -> None:
    path = FOLDER / name
    if os.environ.get("ENTRESOL_RECORD"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")
