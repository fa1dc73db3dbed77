from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from pathlib import Path
from unittest.mock import Mock

import pytest

from entresol.errors import ListenFailed, StoreFull
from entresol.execution.limits import WorkBudget
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.config.state_files import StateFilesConfig
from entresol.node.dev_features import development_accounts
from entresol.node.node import Node
from entresol.node.parts import layers
from entresol.node.recipes.ecosystem import ecosystem
from entresol.primitives.headers import Header
from entresol.sequencer import local
from entresol.server.config import ServerConfig
from tests.support.polling import PATIENCE_SECONDS


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
    opened = contextlib.ExitStack()
    opened.callback(calls.append, "close chain")
    info = Mock(side_effect=AssertionError)
    return Node(opened, parts, (), info)


def test_parts_start_in_order_and_stop_in_reverse_before_the_chains_are_closed() -> None:
    calls: list[str] = []

    async def live() -> None:
        node = node_of(calls, RecordedPart("a", calls), RecordedPart("b", calls))
        await node.start()
        await node.stop()
        await node.stop()

    asyncio.run(live())
    assert calls == ["start a", "start b", "stop b", "stop a", "close chain"]


def test_a_part_that_fails_to_stop_keeps_no_other_from_it() -> None:
    calls: list[str] = []
    node = node_of(calls, RecordedPart("a", calls), UnstoppablePart("b", calls))
    with pytest.raises(OSError):  # noqa: PT011 - it has no text
        asyncio.run(node.stop())
    assert calls == ["stop b", "stop a", "close chain"]


def test_a_node_that_fails_to_start_dumps_no_state(tmp_path: Path) -> None:
    """The file may be that of the node which has the port."""
    file = tmp_path / "state.json"
    with socket.create_server(("127.0.0.1", 0)) as other:
        config = NodeConfig(
            l1=L1Config(l1=False),
            server=ServerConfig(port=other.getsockname()[1]),
            state_files=StateFilesConfig(dump_state=str(file)),
        )
        with pytest.raises(ListenFailed):
            asyncio.run(_start(config))
    assert not file.exists()


async def _start(config: NodeConfig) -> None:
    await ecosystem(config).start()


def test_a_block_that_cannot_be_sealed_is_logged_and_retried(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(local, "RETRY_SECONDS", 0.0)
    config = NodeConfig(
        chain=ChainConfig(block_time=0.001), l1=L1Config(l1_port=0), server=ServerConfig(port=0)
    )

    async def live() -> None:
        node = ecosystem(config)
        sealed = asyncio.Event()
        seal, failures = node.chain.builder.seal, [StoreFull(node.chain.blocks.path)]

        def fail_once(*, budget: WorkBudget | None, leaves_out: bool) -> Header:
            if failures:
                raise failures.pop()
            sealed.set()
            return seal(budget=budget, leaves_out=leaves_out)

        monkeypatch.setattr(node.chain.builder, "seal", fail_once)
        await node.start()
        await asyncio.wait_for(sealed.wait(), PATIENCE_SECONDS)
        await node.stop()

    asyncio.run(live())
    (record,) = [it for it in caplog.records if it.levelno == logging.ERROR]
    assert record.getMessage().startswith("a block could not be sealed: no space left for ")
    assert "no space left" in caplog.text


def test_a_node_that_fails_to_open_closes_both_of_its_chains(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = NodeConfig(chain=ChainConfig(data_dir=str(tmp_path / "chain")))

    def fail(*_: object, **_named: object) -> None:
        raise StoreFull(tmp_path)

    with monkeypatch.context() as patch:
        patch.setattr(layers, "Rollup", fail)
        # The error keeps what was open alive, so that only closing releases the directory.
        with pytest.raises(StoreFull) as caught:
            ecosystem(config)
    assert caught.tb is not None
    asyncio.run(ecosystem(config).stop())


def test_development_accounts_are_derived_once() -> None:
    config = ChainConfig(accounts=3)
    assert development_accounts(config) is development_accounts(ChainConfig(accounts=3))
    assert len(development_accounts(config)) == 5
