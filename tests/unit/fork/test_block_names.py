"""How the block of a state is named, and what happens when it is orphaned or pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from entresol.errors import (
    AnchorLost,
    NoArchive,
)
from tests.support.fork.faults import Reorganisation
from tests.support.fork.remote_node import (
    ACCOUNT,
    BLOCKS,
    OTHER_HASH,
    RemoteNode,
    doubled,
    slots_of,
    value,
    wanted,
)

if TYPE_CHECKING:
    pass


def test_state_is_read_by_the_hash_of_the_block(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert wanted(remote.table, [ACCOUNT]) is None
        expected = {"blockHash": str(remote.anchor.hash), "requireCanonical": False}
        assert [it["params"][1] for it in node.proxy.bodies[0]] == [expected] * 3


def test_a_remote_that_rejects_the_object_gets_the_bare_hash(node: RemoteNode) -> None:
    node.proxy.rejects_block_objects = True
    with node.fork() as remote:
        assert wanted(remote.table, [ACCOUNT]) is None
        assert [it["params"][1] for it in node.proxy.bodies[0]] == [str(remote.anchor.hash)] * 3


@pytest.mark.parametrize("settings", [{}, {"by_number": True}], ids=str)
def test_state_by_number_carries_the_block_in_every_batch(
    node: RemoteNode, settings: dict[str, Any]
) -> None:
    node.proxy.rejects_block_objects = node.proxy.rejects_block_hashes = not settings
    with node.fork(**settings) as remote:
        assert wanted(remote.table, [ACCOUNT]) is None
        (batch,) = node.proxy.bodies
        assert [it["method"] for it in batch][-1] == "eth_getBlockByNumber"
        assert {it["params"][1] for it in batch[:-1]} == {hex(BLOCKS)}


def test_a_batch_by_number_is_thrown_away_if_the_block_is_another(node: RemoteNode) -> None:
    with node.fork(by_number=True) as remote:
        assert wanted(remote.table, slots_of([1])) is None
        old = str(remote.anchor.hash)
        node.proxy.reorganisation = Reorganisation(BLOCKS, old, OTHER_HASH)
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, AnchorLost)
        assert old in str(failure)
        assert OTHER_HASH in str(failure)
        assert value(remote, 1) == 2
        assert not remote.table.known(ACCOUNT)


def test_an_unread_value_of_an_orphaned_anchor_is_an_error_that_says_so(node: RemoteNode) -> None:
    with node.fork() as remote:
        assert wanted(remote.table, slots_of([1])) is None
        node.proxy.reorganisation = Reorganisation(BLOCKS, str(remote.anchor.hash), OTHER_HASH)
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, AnchorLost)
        assert "was orphaned" in str(failure)
        assert value(remote, 1) == 2


def test_a_remote_without_archive_says_to_pin_a_newer_block(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.oldest_state = BLOCKS + 1
        failure = wanted(remote.table, [ACCOUNT])
        assert isinstance(failure, NoArchive)
        assert f"no state of block {BLOCKS}" in str(failure)
        assert "pin a newer block" in str(failure)


def test_a_start_at_a_block_without_state_fails(node: RemoteNode) -> None:
    node.proxy.oldest_state = 50
    with pytest.raises(NoArchive, match="no state of block 7"), node.fork(block_number=7):
        pass


def test_one_of_several_urls_that_does_not_take_the_name_gets_the_number(node: RemoteNode) -> None:
    with node.fork() as remote:
        node.proxy.rejects_block_objects = node.proxy.rejects_block_hashes = True
        assert wanted(remote.table, [ACCOUNT, *slots_of(range(10))]) is None
        assert value(remote, 9) == 18


def test_state_by_number_without_batches_is_proven_if_it_can_be(node: RemoteNode) -> None:
    with node.fork(by_number=True, batch_size=1) as remote:
        assert wanted(remote.table, slots_of([1])) is None
        assert [body["method"] for body in node.proxy.bodies] == ["eth_getProof"]
        node.proxy.lies["eth_getProof"] = lambda _, it: it | {"storageProof": doubled(it)}
        assert isinstance(wanted(remote.table, slots_of([2])), AnchorLost)


def test_state_by_number_without_batches_and_proofs_is_checked_before_and_after_each_read(
    node: RemoteNode,
) -> None:
    node.proxy.not_served("eth_getProof")
    with node.fork(by_number=True, batch_size=1) as remote:
        assert wanted(remote.table, slots_of([1])) is None
        assert [body["method"] for body in node.proxy.bodies] == [
            "eth_getBlockByNumber",
            "eth_getStorageAt",
            "eth_getBlockByNumber",
        ]
        node.proxy.reorganisation = Reorganisation(BLOCKS, str(remote.anchor.hash), OTHER_HASH)
        assert isinstance(wanted(remote.table, slots_of([2])), AnchorLost)
