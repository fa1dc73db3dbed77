"""State of a block: by hash or number, by proofs or not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from aiohttp import web

from entresol._native import keccak256
from entresol.errors import AnchorLost, NoArchive, RemoteMalformed
from entresol.features.fork.remote_chain import RemoteChain
from entresol.features.fork.remote_values import MAX_CODE
from entresol.features.fork.table_feed import remote_snapshot
from entresol.features.fork.transport import client
from tests.support.fork import faults
from tests.support.fork.faults import Reorganisation
from tests.support.fork.remote_node import (
    ACCOUNT,
    BALANCE,
    BLOCKS,
    CODE,
    CONTRACT,
    HOLDER,
    NOBODY,
    NONCE,
    OTHER_HASH,
    RemoteNode,
    doubled,
    problem,
    slots_of,
    value,
    wanted,
)


def test_state_is_read_by_the_hash_of_the_block(node: RemoteNode, remote: RemoteChain) -> None:
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
        text = problem(remote.table, [ACCOUNT], AnchorLost)
        assert old in text
        assert OTHER_HASH in text
        assert value(remote, 1) == 2
        assert not remote.table.known(ACCOUNT)


def test_an_unread_value_of_an_orphaned_anchor_is_an_error_that_says_so(
    node: RemoteNode, remote: RemoteChain
) -> None:
    assert wanted(remote.table, slots_of([1])) is None
    node.proxy.reorganisation = Reorganisation(BLOCKS, str(remote.anchor.hash), OTHER_HASH)
    assert "was orphaned" in problem(remote.table, [ACCOUNT], AnchorLost)
    assert value(remote, 1) == 2


def test_a_remote_without_archive_says_to_pin_a_newer_block(
    node: RemoteNode, remote: RemoteChain
) -> None:
    node.proxy.oldest_state = BLOCKS + 1
    text = problem(remote.table, [ACCOUNT], NoArchive)
    assert f"no state of block {BLOCKS}" in text
    assert "pin a newer block" in text


def test_a_start_at_a_block_without_state_fails(node: RemoteNode) -> None:
    node.proxy.oldest_state = 50
    with pytest.raises(NoArchive, match="no state of block 7"), node.fork(block_number=7):
        pass


def test_one_of_several_urls_that_does_not_take_the_name_gets_the_number(
    node: RemoteNode, remote: RemoteChain
) -> None:
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


def test_an_account_comes_with_nonce_balance_and_code_in_one_request(
    node: RemoteNode, remote: RemoteChain
) -> None:
    assert wanted(remote.table, [("account", bytes(CONTRACT)), ACCOUNT]) is None
    assert node.proxy.posts == 1
    state = remote_snapshot(remote.table)
    holder, contract = state.account(bytes(HOLDER)), state.account(bytes(CONTRACT))
    assert holder is not None
    assert (holder.nonce, holder.balance) == (NONCE, BALANCE)
    assert contract is not None
    assert contract.code_hash == keccak256(CODE)
    assert state.code(contract.code_hash) == CODE


def test_an_empty_account_is_absent_and_asked_for_once(
    node: RemoteNode, remote: RemoteChain
) -> None:
    assert wanted(remote.table, [("account", bytes(NOBODY))]) is None
    assert remote_snapshot(remote.table).account(bytes(NOBODY)) is None
    assert wanted(remote.table, [("account", bytes(NOBODY))]) is None
    assert node.proxy.posts == 1


def test_slots_come_in_batches_where_the_remote_proves_nothing(node: RemoteNode) -> None:
    node.proxy.not_served("eth_getProof")
    with node.fork(batch_size=50) as remote:
        assert wanted(remote.table, slots_of(range(250))) is None
        assert dict(node.proxy.methods) == {"eth_getStorageAt": 250}
        assert node.proxy.batches == [50] * 5
        assert value(remote, 249) == 498


def test_a_proof_that_does_not_fit_the_block_is_not_used(
    node: RemoteNode, remote: RemoteChain
) -> None:
    node.proxy.lies["eth_getProof"] = lambda _, it: it | {"storageProof": doubled(it)}
    assert wanted(remote.table, slots_of(range(10))) is None
    assert value(remote, 5) == 10
    assert node.proxy.methods["eth_getStorageAt"] == 10


@pytest.mark.parametrize("is_413", [False, True], ids=["-32600", "413"])
def test_a_batch_that_is_too_large_is_halved_and_the_size_remembered(
    node: RemoteNode, is_413: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "REGAIN_SECONDS", 3_600.0)
    node.proxy.not_served("eth_getProof")
    node.proxy.max_batch, node.proxy.is_413 = 30, is_413
    with node.fork() as remote:
        assert wanted(remote.table, slots_of(range(100))) is None
        assert value(remote, 99) == 198
        node.proxy.forget()
        assert wanted(remote.table, slots_of(range(100, 200))) is None
        assert max(node.proxy.batches) <= 30


def test_batches_are_longer_again_after_a_while(node: RemoteNode) -> None:
    """What a remote did not take may have been a moment's trouble."""
    node.proxy.not_served("eth_getProof")
    now = 0.0
    with node.fork() as remote:
        asked = remote._client
        assert asked is not None
        asked._patience = msgspec.structs.replace(asked._patience, clock=lambda: now)

        def sizes(first: int) -> set[int]:
            node.proxy.forget()
            assert wanted(remote.table, slots_of(range(first, first + 100))) is None
            return set(node.proxy.batches)

        node.proxy.max_batch = 30
        assert sizes(0) == {25, 50, 100}
        node.proxy.max_batch = None
        assert sizes(100) == {25}
        now += client.REGAIN_SECONDS
        assert sizes(200) == {25}
        assert sizes(300) == sizes(400) == {50}
        now += client.REGAIN_SECONDS
        assert sizes(500) == {50}
        assert sizes(600) == {100}
        assert value(remote, 299) == 598


def test_a_remote_without_batches_is_asked_one_by_one_but_sixteen_at_a_time(
    node: RemoteNode,
) -> None:
    node.proxy.not_served("eth_getProof")
    node.proxy.max_batch = 0
    sixteen = faults.together(16)

    async def wait_alone(request: web.Request) -> web.StreamResponse | None:
        return None if isinstance(await request.json(), list) else await sixteen(request)

    with node.fork() as remote:
        node.proxy.fault = wait_alone
        assert wanted(remote.table, slots_of(range(64))) is None
        assert value(remote, 63) == 126
        assert node.proxy.most_in_flight == 16


def test_responses_in_another_order_are_matched_by_their_ids(node: RemoteNode) -> None:
    node.proxy.not_served("eth_getProof")
    node.proxy.shuffles = True
    with node.fork() as remote:
        assert wanted(remote.table, slots_of(range(20))) is None
        assert [value(remote, it) for it in range(20)] == [2 * it for it in range(20)]


def test_a_response_is_received_only_as_far_as_what_was_asked_for_can_be_long(
    node: RemoteNode,
) -> None:
    node.proxy.not_served("eth_getProof")
    with node.fork() as remote:
        node.proxy.fault = faults.huge(2 << 20)
        assert "the response has more than 1049600 bytes" in problem(
            remote.table, slots_of([1]), RemoteMalformed
        )


def test_the_longest_code_is_received(node: RemoteNode) -> None:
    node.proxy.lies["eth_getCode"] = lambda *_: "0x" + "00" * MAX_CODE
    node.proxy.not_served("eth_getProof")
    with node.fork() as remote:
        assert wanted(remote.table, [ACCOUNT]) is None


HOSTILE: list[tuple[str, Any]] = [
    ("eth_getStorageAt", "0x" + "11" * 33),
    ("eth_getStorageAt", "0x" + "00" * 33),
    ("eth_getStorageAt", 7),
    ("eth_getStorageAt", None),
    ("eth_getStorageAt", "0xzz"),
    ("eth_getTransactionCount", hex(1 << 64)),
    ("eth_getBalance", hex(1 << 256)),
    ("eth_getBalance", {}),
    ("eth_getCode", "0x" + "00" * ((1 << 20) + 1)),
    ("eth_getCode", "0x123"),
]


@pytest.mark.parametrize(("method", "result"), HOSTILE, ids=lambda it: str(it)[:20])
def test_a_value_that_no_chain_has_is_malformed(
    node: RemoteNode, remote: RemoteChain, method: str, result: Any
) -> None:
    node.proxy.lies[method] = lambda *_: result
    keys = slots_of([1]) if method == "eth_getStorageAt" else [ACCOUNT]
    text = problem(remote.table, keys, RemoteMalformed)
    assert method in text
    assert len(text) < 500
