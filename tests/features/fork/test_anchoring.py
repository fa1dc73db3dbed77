"""Which remote block a fork stands on."""

from __future__ import annotations

from typing import Any

import pytest

from entresol.errors import AnchorMismatch, AnchorNotFound, RemoteMalformed
from entresol.features.fork.remote_chain import RemoteChain
from entresol.primitives.values import Hash32
from tests.support.fork.remote_node import (
    BLOCKS,
    CHAIN_ID,
    FIRST_TIME,
    OTHER_HASH,
    RemoteNode,
    block_hash,
    remote_node,
    served_chain,
)


def test_the_latest_block_is_the_anchor_unless_one_is_named(
    node: RemoteNode, remote: RemoteChain
) -> None:
    assert (remote.anchor.number, remote.anchor.chain_id) == (BLOCKS, CHAIN_ID)
    assert remote.anchor.hash == block_hash(node, BLOCKS)


@pytest.mark.parametrize(
    ("settings", "number"),
    [
        ({"block_number": 7}, 7),
        ({"block_number": 0}, 0),
        ({"block_number": -10}, BLOCKS - 10),
        ({"block_number": -1_000}, 0),
        ({"not_after": FIRST_TIME + 12 * 40 + 5}, 40),
        ({"not_after": 10**12}, BLOCKS),
        ({"not_after": "of the latest"}, BLOCKS),
    ],
    ids=str,
)
def test_a_block_is_named_by_number_or_time(
    node: RemoteNode, settings: dict[str, Any], number: int
) -> None:
    if settings.get("not_after") == "of the latest":
        settings = {"not_after": node.chain.head.timestamp}
    with node.fork(**settings) as remote:
        if "not_after" in settings:
            limit = settings["not_after"]
            assert remote.anchor.header.timestamp <= limit
            following = remote.anchor.number + 1
            assert following > BLOCKS or node.chain.ledger.header(following).timestamp > limit
        else:
            assert remote.anchor.number == number
        assert remote.anchor.hash == block_hash(node, remote.anchor.number)


def test_a_block_is_named_by_its_hash(node: RemoteNode) -> None:
    with node.fork(block_hash=block_hash(node, 5)) as remote:
        assert remote.anchor.number == 5


@pytest.mark.parametrize(
    "settings",
    [
        {"block_number": 1_000_000},
        {"block_hash": Hash32(b"\x01" * 32)},
        {"transaction_hash": Hash32(b"\x01" * 32)},
    ],
    ids=str,
)
def test_a_block_that_is_not_there_fails_the_start(
    node: RemoteNode, settings: dict[str, Any]
) -> None:
    with pytest.raises(AnchorNotFound, match="to fork from"), node.fork(**settings):
        pass


def test_a_time_before_the_first_block_fails_the_start(node: RemoteNode) -> None:
    node.proxy.lies["eth_getBlockByNumber"] = lambda _, it: it and it | {"timestamp": "0x3e8"}
    with pytest.raises(AnchorNotFound, match="not later than 999"), node.fork(not_after=999):
        pass


@pytest.mark.parametrize("is_rejected", [False, True], ids=["null", "rejected"])
def test_a_time_finds_a_block_of_a_remote_that_does_not_have_the_first_ones(
    node: RemoteNode, *, is_rejected: bool
) -> None:
    first = 20
    if is_rejected:
        node.proxy.oldest_block = first
    else:
        node.proxy.lies["eth_getBlockByNumber"] = lambda _, found: (
            found if found and int(found["number"], 16) >= first else None
        )
    for number in (first, first + 1, 40, BLOCKS - 1):
        time = node.chain.ledger.header(number).timestamp
        with node.fork(not_after=time) as remote:
            assert remote.anchor.hash == block_hash(node, number)
    earlier = node.chain.ledger.header(first).timestamp - 1
    with (
        pytest.raises(AnchorNotFound, match=rf"not later than {earlier} \(its first is block 20\)"),
        node.fork(not_after=earlier),
    ):
        pass


def test_a_time_finds_the_first_of_two_blocks() -> None:
    with served_chain(1) as api, remote_node(api) as node:
        time = node.chain.ledger.header(0).timestamp
        with node.fork(not_after=time) as remote:
            assert remote.anchor.number == 0


def test_a_time_finds_nothing_on_a_remote_that_has_a_gap(node: RemoteNode) -> None:
    node.proxy.lies["eth_getBlockByNumber"] = lambda params, found: (
        None if params[0] != "latest" and 30 < int(found["number"], 16) < 50 else found
    )
    time = node.chain.ledger.header(60).timestamp
    with pytest.raises(AnchorNotFound, match=r"has no block [34]\d to"), node.fork(not_after=time):
        pass


def test_a_transaction_names_the_parent_of_its_block(node: RemoteNode) -> None:
    sent = {"blockNumber": "0x7", "blockHash": str(block_hash(node, 7))}
    node.proxy.lies["eth_getTransactionByHash"] = lambda *_: sent
    with node.fork(transaction_hash=Hash32.parse(OTHER_HASH)) as remote:
        assert remote.anchor.hash == block_hash(node, 6)


def test_a_transaction_of_the_first_block_has_no_block_to_fork_from(node: RemoteNode) -> None:
    sent = {"blockNumber": "0x0", "blockHash": str(block_hash(node, 0))}
    node.proxy.lies["eth_getTransactionByHash"] = lambda *_: sent
    with (
        pytest.raises(RemoteMalformed, match="in the first block, which has no parent"),
        node.fork(transaction_hash=Hash32.parse(OTHER_HASH)),
    ):
        pass


def test_a_pinned_hash_that_the_remote_replaces_fails_the_start_with_both(node: RemoteNode) -> None:
    node.proxy.lies["eth_getBlockByHash"] = lambda _, it: it | {"hash": OTHER_HASH}
    pinned = block_hash(node, 5)
    with (
        pytest.raises(AnchorMismatch, match=f"{OTHER_HASH}.*{pinned}"),
        node.fork(block_hash=pinned),
    ):
        pass
