"""Starts of a fork from its cache: with the remote, without it, and with another one."""

from __future__ import annotations

import asyncio
import logging
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from entresol.errors import (
    AnchorMismatch,
    ForkCacheUnusable,
    NotRecorded,
    RemoteRejected,
    RemoteUnreachable,
)
from entresol.features.fork.cache.cache_files import FilePlace, cached_forks
from entresol.features.fork.cache.fork_cache import CacheSettings, ForkCache, open_cache
from entresol.features.fork.config.fork_settings import ForkSettings
from entresol.features.fork.remote_chain import RemoteChain
from entresol.primitives.values import Hash32
from tests.support.fork import faults
from tests.support.fork.faults import Reorganisation
from tests.support.fork.remote_node import (
    ACCOUNT,
    BLOCKS,
    CHAIN_ID,
    CONTRACT,
    HOLDER,
    NOBODY,
    OTHER_HASH,
    RemoteNode,
    block_hash,
    problem,
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
    with closing(
        RemoteChain.open(ForkSettings(is_offline=True), cache_of(recorded, is_offline=True))
    ) as remote:
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
            text = problem(remote.table, [key], NotRecorded)
            assert name in text
            assert "--fork-url" in text
        with pytest.raises(NotRecorded, match="eth_gasPrice"):
            asyncio.run(remote.read("eth_gasPrice", []))
        assert node.proxy.posts == 0


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


def test_accounts_that_a_start_needs_take_no_round_trip_of_their_own(node: RemoteNode) -> None:
    # The first request finds the anchor.
    both = faults.together(2)
    node.proxy.faults.extend([None, both, both])
    with closing(RemoteChain.open(node.settings(), ForkCache.memory(), [bytes(HOLDER)])) as remote:
        assert node.proxy.posts == 3
        assert wanted(remote.table, [ACCOUNT]) is None
        assert node.proxy.posts == 3


def test_an_account_that_cannot_be_read_ahead_fails_when_it_is_needed(node: RemoteNode) -> None:
    node.proxy.not_served("eth_getTransactionCount")
    with closing(RemoteChain.open(node.settings(), ForkCache.memory(), [bytes(HOLDER)])) as remote:
        assert not remote.table.known(ACCOUNT)
        assert isinstance(wanted(remote.table, [ACCOUNT]), RemoteRejected)
        node.proxy.errors.clear()
        assert wanted(remote.table, [ACCOUNT]) is None


def test_a_remote_that_does_not_respond_to_what_is_read_ahead_is_waited_for_once(
    node: RemoteNode,
) -> None:
    async def stalled_for_nonces(request: web.Request) -> web.StreamResponse | None:
        is_ahead = b"eth_getTransactionCount" in await request.read()
        return await faults.stalled(request) if is_ahead else None

    node.proxy.fault = stalled_for_nonces
    settings = node.settings(timeout=0.3, retries=0)
    with pytest.raises(RemoteUnreachable, match="no response in"):
        RemoteChain.open(settings, ForkCache.memory(), [bytes(HOLDER)])
    assert node.proxy.methods["eth_getTransactionCount"] == 1


def without_requests(_params: list[Any], block: dict[str, Any]) -> dict[str, Any]:
    """Return a block; those before 40 have no fields of Prague."""
    number = int(block["number"], 16)
    return {name: it for name, it in block.items() if name != "requestsHash" or number >= 40}


@pytest.mark.parametrize(("anchor", "expected"), [(None, "osaka"), (70, "osaka"), (30, "cancun")])
def test_blocks_before_a_hardfork_of_the_remote_are_of_the_one_before(
    node: RemoteNode, tmp_path: Path, anchor: int | None, expected: str
) -> None:
    node.proxy.not_served("eth_config")
    node.proxy.lies["eth_getBlockByNumber"] = without_requests
    with node.fork(cache_of(tmp_path), block_number=anchor) as remote:
        assert remote.hardfork == expected
        earlier = asyncio.run(remote.past_block(5))
        assert earlier is not None
        assert remote.hardfork_of(earlier.header.timestamp, earlier.json) == "cancun"
    with closing(
        RemoteChain.open(ForkSettings(is_offline=True), cache_of(tmp_path, is_offline=True))
    ) as offline:
        assert offline.hardfork == expected


def test_a_cache_of_what_was_not_proven_is_none_for_a_fork_that_verifies(
    node: RemoteNode, tmp_path: Path
) -> None:
    place = CacheSettings(place=tmp_path / "fork.sqlite")
    with node.fork(open_cache(place, {})):
        pass
    with (
        pytest.raises(ForkCacheUnusable, match="it has what was read without --fork-verify"),
        node.fork(open_cache(place, {}), verify=True),
    ):
        pass


def test_nothing_unproven_is_added_to_a_cache_of_what_was_proven(
    node: RemoteNode, tmp_path: Path
) -> None:
    place = CacheSettings(place=tmp_path / "fork.sqlite", is_verified=True)
    with node.fork(open_cache(place, {}), verify=True):
        pass
    with pytest.raises(ForkCacheUnusable, match="may be added"), node.fork(open_cache(place, {})):
        pass
    offline = CacheSettings(place=tmp_path / "fork.sqlite", is_offline=True)
    with node.fork(open_cache(offline, {}), is_offline=True, urls=()):
        pass


def test_in_a_directory_what_is_proven_has_a_file_of_its_own(
    node: RemoteNode, tmp_path: Path
) -> None:
    for verify in (False, True):
        for _ in range(2):
            cache = open_cache(CacheSettings(place=tmp_path, is_verified=verify), {})
            with node.fork(cache, verify=verify, block_hash=block_hash(node, 70)) as remote:
                assert remote.verifies == verify
    names = sorted(
        cached_fork.path.stem.endswith("-verified") for cached_fork in cached_forks(tmp_path)
    )
    assert names == [False, True]
