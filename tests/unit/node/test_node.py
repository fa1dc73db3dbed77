"""A node in this process."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from entresol.errors import StoreFull
from entresol.node import chain_service as module
from entresol.node import node as node_module
from entresol.node.chains import development_accounts
from entresol.node.config.schema import ChainConfig, NodeConfig
from entresol.node.node import Node
from entresol.server.config import ServerConfig
from tests.support.polling import PATIENCE_SECONDS


def test_a_block_that_cannot_be_sealed_is_told_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    config = NodeConfig(chain=ChainConfig(block_time=0.001), server=ServerConfig(port=0))

    async def live() -> None:
        node = Node(config)
        sealed = asyncio.Event()
        seal, failures = node.chain.seal, [StoreFull(node.chain.ledger.store.path)]

        def fail_once() -> None:
            if failures:
                raise failures.pop()
            seal()
            sealed.set()

        monkeypatch.setattr(node.chain, "seal", fail_once)
        await node.start()
        await asyncio.wait_for(sealed.wait(), PATIENCE_SECONDS)
        await node.stop()

    asyncio.run(live())
    (record,) = [it for it in caplog.records if it.levelno == logging.ERROR]
    assert record.getMessage() == "a block could not be sealed; trying again"
    assert "no space left" in caplog.text


def test_a_node_that_cannot_be_made_leaves_neither_of_its_chains_open(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = NodeConfig(chain=ChainConfig(data_dir=str(tmp_path / "chain")))

    def fail(*_: object) -> None:
        raise StoreFull(tmp_path)

    with monkeypatch.context() as patch:
        patch.setattr(node_module, "Rollup", fail)
        # The error keeps alive what was open, so that only closing lets go of the directory.
        with pytest.raises(StoreFull) as kept:
            Node(config)
    assert kept.tb is not None
    asyncio.run(Node(config).stop())


def test_development_accounts_are_derived_once() -> None:
    config = ChainConfig(accounts=3)
    assert development_accounts(config) is development_accounts(ChainConfig(accounts=3))
    assert len(development_accounts(config)) == 5
