"""Starts of a fork from its cache: with the remote, without it, and with another one."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from entresol.errors import AnchorMismatch, NotRecorded, RemoteUnreachable
from entresol.fork.cache.cache import ForkCache
from entresol.fork.cache.places import FilePlace
from entresol.fork.remote_chain import RemoteChain
from entresol.fork.settings import ForkSettings
from entresol.primitives.values import Hash32
from tests.support.fork import faults
from tests.support.fork.faults import Reorganisation
from tests.support.fork.remote_node import (
    BLOCKS,
    CHAIN_ID,
    CONTRACT,
    NOBODY,
    OTHER_HASH,
    RemoteNode,
    slots_of,
    wanted,
)


def cache_of(path: Path, *, is_offline: bool = False) -> ForkCache:
    return ForkCache(FilePlace(path / "fork.sqlite"), is_offline=is_offline)


@pytest.fixture
def recorded(node: RemoteNode, tmp_path: Path) -> Path:
    """Record a fork, and return where."""
    with node.fork(cache_of(tmp_path)) as remote:
        keys = [("account", bytes(CONTRACT)), *slots_of(range(10)), ("hash", 3)]
        assert wanted(remote.table, keys) is None
        assert wanted(remote.table_at(5), slots_of([1])) is None
        assert asyncio.run(remote.past_block(7)) is not None
    return tmp_path


def test_a_restart_with_the_remote_away_serves_what_was_read(
    node: RemoteNode, recorded: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node.proxy.fault = faults.dropped
    caplog.set_level(logging.WARNING)
    with node.fork(cache_of(recorded)) as remote:
        assert remote.anchor.number == BLOCKS
        assert "what was read of it before is served" in caplog.text
        keys = [("account", bytes(CONTRACT)), *slots_of(range(10)), ("hash", 3)]
        assert wanted(remote.table, keys) is None
        assert asyncio.run(remote.past_block(7)) is not None
        assert isinstance(wanted(remote.table, slots_of([50])), RemoteUnreachable)
        node.proxy.fault = None
        assert wanted(remote.table, slots_of([50])) is None


def test_a_restart_asks_for_nothing_that_was_read(node: RemoteNode, recorded: Path) -> None:
    with node.fork(cache_of(recorded)) as remote:
        keys = [("account", bytes(CONTRACT)), *slots_of(range(10)), ("hash", 3), ("hash", 75)]
        assert wanted(remote.table, keys) is None
        assert node.proxy.posts == 0


def test_another_chain_behind_the_url_fails_the_start_with_both_ids(
    node: RemoteNode, recorded: Path
) -> None:
    node.proxy.lies["eth_chainId"] = lambda *_: "0x7"
    with (
        pytest.raises(AnchorMismatch, match=f"is 7, and {CHAIN_ID} is expected"),
        node.fork(cache_of(recorded)),
    ):
        pass


def test_another_block_at_the_anchors_number_fails_the_start_with_both_hashes(
    node: RemoteNode, recorded: Path
) -> None:
    anchor = str(node.chain.ledger.header(BLOCKS).hash())
    node.proxy.reorganisation = Reorganisation(BLOCKS, anchor, OTHER_HASH)
    with (
        pytest.raises(AnchorMismatch, match=f"is {OTHER_HASH}, and {anchor} is expected"),
        node.fork(cache_of(recorded)),
    ):
        pass


def test_a_fork_without_a_network_serves_what_was_recorded_and_names_what_was_not(
    node: RemoteNode, recorded: Path
) -> None:
    node.proxy.forget()
    remote = RemoteChain.open(ForkSettings(is_offline=True), cache_of(recorded, is_offline=True))
    try:
        assert remote.anchor.hash == node.chain.ledger.header(BLOCKS).hash()
        assert (remote.host, remote.waiting.requests) == ("offline", 0)
        keys = [("account", bytes(CONTRACT)), *slots_of(range(10)), ("hash", 3)]
        assert wanted(remote.table, keys) is None
        assert asyncio.run(remote.past_block(7)) is not None
        for key, name in (
            (slots_of([50])[0], f"slot 0x{50:064x} of account {CONTRACT}"),
            (("account", bytes(NOBODY)), f"account {NOBODY}"),
            (("hash", 2), "the hash of block 2"),
        ):
            failure = wanted(remote.table, [key])
            assert isinstance(failure, NotRecorded)
            assert name in str(failure)
            assert "--fork-url" in str(failure)
        with pytest.raises(NotRecorded, match="eth_gasPrice"):
            asyncio.run(remote.read("eth_gasPrice", []))
        assert node.proxy.posts == 0
    finally:
        remote.close()


def test_a_start_without_network_and_recording_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="--fork-url"):
        RemoteChain.open(ForkSettings(is_offline=True), cache_of(tmp_path, is_offline=True))


def test_a_remote_that_reorganises_during_the_start_is_asked_again(node: RemoteNode) -> None:
    starts = 0

    def lie(params: list[object], block: dict[str, object]) -> dict[str, object]:
        nonlocal starts
        starts += params[0] == "latest"
        return block | {"hash": OTHER_HASH} if starts == 1 and params[0] == hex(70) else block

    node.proxy.lies["eth_getBlockByNumber"] = lie
    with node.fork() as remote:
        assert starts == 2
        assert remote.hash_at(70) == node.chain.ledger.header(70).hash() != Hash32.parse(OTHER_HASH)


def test_a_start_takes_two_round_trips(node: RemoteNode) -> None:
    RemoteChain.open(node.settings(), ForkCache.memory()).close()
    assert node.proxy.posts == 2


def test_the_hardfork_is_that_of_the_remote(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert remote.hardfork == node.chain.rules.fork


def test_a_start_while_the_remote_is_gone_fails(node: RemoteNode) -> None:
    node.proxy.fault = faults.dropped
    with pytest.raises(RemoteUnreachable, match="eth_"), node.fork():
        pass
