from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from entresol.errors import StoreFull
from entresol.execution.work_budget import WorkBudget
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.dev_features import development_accounts
from entresol.node.recipes import pair as recipe
from entresol.node.recipes.pair import pair
from entresol.primitives.headers import Header
from entresol.sequencer import local as module
from entresol.server.config import ServerConfig
from tests.support.polling import PATIENCE_SECONDS


def test_a_block_that_cannot_be_sealed_is_logged_and_retried(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    config = NodeConfig(
        chain=ChainConfig(block_time=0.001), l1=L1Config(l1_port=0), server=ServerConfig(port=0)
    )

    async def live() -> None:
        node = pair(config)
        sealed = asyncio.Event()
        seal, failures = node.chain.builder.seal, [StoreFull(node.chain.blocks.path)]

        def fail_once(*, budget: WorkBudget | None) -> Header:
            if failures:
                raise failures.pop()
            sealed.set()
            return seal(budget=budget)

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
        patch.setattr(recipe, "Rollup", fail)
        # The error keeps what was open alive, so that only closing releases the directory.
        with pytest.raises(StoreFull) as caught:
            pair(config)
    assert caught.tb is not None
    asyncio.run(pair(config).stop())


def test_development_accounts_are_derived_once() -> None:
    config = ChainConfig(accounts=3)
    assert development_accounts(config) is development_accounts(ChainConfig(accounts=3))
    assert len(development_accounts(config)) == 5
