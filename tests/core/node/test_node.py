from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from entresol.errors import StoreFull
from entresol.node.build_node import build_node
from entresol.node.config.schema import ChainConfig, NodeConfig
from entresol.node.node import Node
from entresol.node.node_parts import NodeParts
from entresol.node.opening import open_layers


class RecordedPart:
    """A part that notes when it starts and stops."""

    problem = None

    def __init__(self, name: str, calls: list[str]) -> None:
        self._name = name
        self._calls = calls

    async def start(self) -> None:
        self._calls.append(f"start {self._name}")

    async def stop(self) -> None:
        self._calls.append(f"stop {self._name}")


class UnstoppablePart(RecordedPart):
    """A part that fails to stop."""

    async def stop(self) -> None:
        await super().stop()
        raise OSError


def node_of(calls: list[str], *parts: RecordedPart) -> Node:
    made = NodeParts(NodeConfig())
    made.opened(Mock(close=partial(calls.append, "close chain")))
    made.add(*parts)
    return Node(made, Mock(side_effect=AssertionError))


def test_a_part_that_fails_to_stop_keeps_no_other_from_it() -> None:
    calls: list[str] = []
    node = node_of(calls, RecordedPart("a", calls), UnstoppablePart("b", calls))
    with pytest.raises(OSError):  # noqa: PT011 - it has no text
        asyncio.run(node.stop())
    assert calls == ["stop b", "stop a", "close chain"]


def test_a_node_that_fails_to_open_closes_both_of_its_chains(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = NodeConfig(chain=ChainConfig(data_dir=str(tmp_path / "chain")))

    def fail(*_: object, **_named: object) -> None:
        raise StoreFull(tmp_path)

    with monkeypatch.context() as patch:
        patch.setattr(open_layers, "Rollup", fail)
        # The error keeps what was open alive, so that only closing releases the directory.
        with pytest.raises(StoreFull) as caught:
            build_node(config)
    assert caught.tb is not None
    asyncio.run(build_node(config).stop())
