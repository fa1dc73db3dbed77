"""The chain behind a fork's URL: its tables, another URL, secrets, its end."""

from __future__ import annotations

import asyncio
import logging
import traceback

import pytest

from entresol.cache_limits import CACHES
from entresol.errors import AnchorMismatch, RemoteFailed, RemoteUnreachable
from entresol.features.fork import remote_use
from entresol.features.fork.remote_chain import RemoteChain
from tests.support.fork import faults
from tests.support.fork.faults import Reorganisation
from tests.support.fork.remote_node import (
    ACCOUNT,
    BLOCKS,
    CHAIN_ID,
    OTHER_HASH,
    RemoteNode,
    read,
    slots_of,
    wanted,
)
from tests.support.polling import eventually

SECRET = "0123456789abcdef"[::-1]


def test_the_state_of_an_earlier_block_has_a_table_of_its_own(
    node: RemoteNode, remote: RemoteChain
) -> None:
    table = remote.table_at(3)
    assert wanted(table, [ACCOUNT]) is None
    assert table is remote.table_at(3) is not remote.table
    assert remote.table_at(BLOCKS) is remote.table
    named = node.proxy.bodies[-1][0]["params"][1]
    assert named == hex(3)


def test_tables_of_earlier_blocks_are_few(remote: RemoteChain) -> None:
    first = remote.table_at(0)
    for number in range(1, CACHES.past_tables + 1):
        remote.table_at(number)
    assert remote.table_at(CACHES.past_tables) is remote.table_at(CACHES.past_tables)
    assert remote.table_at(0) is not first


def test_a_secret_of_url_or_headers_is_in_no_error_log_or_representation(
    node: RemoteNode, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_use, "SLOW_SECONDS", 0.0)
    caplog.set_level(logging.DEBUG)
    url = f"{node.proxy.url.replace('//', f'//user:{SECRET}@')}/v2/{SECRET}?key={SECRET}"
    headers = (("X-Api-Key", SECRET), ("X-Authorization", f"Bearer {SECRET}"))
    with node.fork(urls=(url,), headers=headers) as remote:
        shown = [repr(remote.settings), remote.host, str(remote.waiting)]
        for fault in (
            faults.rejected(-32000, f"the key {SECRET} of {url} is wrong"),
            faults.status(401, f"no such key: {SECRET}"),
            faults.dropped,
        ):
            node.proxy.fault = fault
            failure = wanted(remote.table, [ACCOUNT])
            assert isinstance(failure, RemoteFailed)
            shown += traceback.format_exception(failure)
        assert any("is slow" in record.getMessage() for record in caplog.records)
        shown += [
            record.getMessage() for record in caplog.records if record.name.startswith("entresol")
        ]
        assert not [it for it in shown if SECRET in it]
        assert node.proxy.headers[0]["X-Api-Key"] == SECRET


def test_another_url_gets_headers_only_if_its_host_was_given_at_the_start(node: RemoteNode) -> None:
    with node.fork(headers=(("X-Api-Key", SECRET),)) as remote:
        asyncio.run(remote.set_url(f"{node.proxy.url}/other"))
        assert wanted(remote.table, [ACCOUNT]) is None
        assert node.proxy.headers[-1]["X-Api-Key"] == SECRET
        asyncio.run(remote.set_url(node.proxy.url.replace("127.0.0.1", "localhost")))
        assert wanted(remote.table, slots_of([1])) is None
        assert "X-Api-Key" not in node.proxy.headers[-1]


def test_another_url_may_take_other_names_of_blocks(node: RemoteNode, remote: RemoteChain) -> None:
    assert wanted(remote.table, slots_of([1])) is None
    node.proxy.rejects_block_objects = True
    asyncio.run(remote.set_url(node.proxy.url))
    node.proxy.forget()
    assert wanted(remote.table, [ACCOUNT]) is None
    assert node.proxy.bodies[-1][0]["params"][1] == str(remote.anchor.hash)


def test_another_url_has_to_have_the_same_chain_and_anchor(
    node: RemoteNode, remote: RemoteChain
) -> None:
    node.proxy.lies["eth_chainId"] = lambda *_: "0x7"
    with pytest.raises(AnchorMismatch, match=f"is 7, and {CHAIN_ID} is expected"):
        asyncio.run(remote.set_url(node.proxy.url))
    del node.proxy.lies["eth_chainId"]
    node.proxy.reorganisation = Reorganisation(BLOCKS, str(remote.anchor.hash), OTHER_HASH)
    with pytest.raises(AnchorMismatch, match=OTHER_HASH):
        asyncio.run(remote.set_url(node.proxy.url))


def test_closing_fails_what_waits(node: RemoteNode) -> None:
    node.proxy.latency = 0.0
    with node.fork() as remote:
        node.proxy.fault = faults.stalled
        remote.table.want([ACCOUNT])
        eventually(lambda: remote.waiting.requests)
    assert isinstance(remote.table.failure([ACCOUNT]), RemoteUnreachable)
    with pytest.raises(RemoteUnreachable, match="closed"):
        read(remote, "eth_blockNumber")
