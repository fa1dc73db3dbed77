"""L2-to-L1 logs: 88 bytes and their leaf."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.errors import MalformedValue
from entresol.primitives.l2_to_l1_logs import DEFAULT_LEAF, L1_MESSAGE_SENT, L1_MESSENGER, L2ToL1Log
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.merkle_trees import message_log

ALICE = Address.parse("0x36615Cf349d7F6344891B1e7CA7C72883F5dc049")
BASE_TOKEN = Address.parse("0x000000000000000000000000000000000000800a")

hashes = st.binary(min_size=32, max_size=32).map(Hash32)
logs = st.builds(
    L2ToL1Log,
    shard_id=st.integers(0, 255),
    is_service=st.booleans(),
    tx_number=st.integers(0, 65535),
    sender=st.binary(min_size=20, max_size=20).map(Address),
    key=hashes,
    value=hashes,
)


@given(logs)
def test_logs_survive_packing(log: L2ToL1Log) -> None:
    assert L2ToL1Log.unpack(log.pack()) == log


def test_the_packed_withdrawal_of_the_worked_example() -> None:
    message = bytes.fromhex("6c0960f9") + ALICE + (10**15).to_bytes(32)
    log = message_log(1, BASE_TOKEN, message)
    assert log.pack().hex() == (
        "00010001"
        "0000000000000000000000000000000000008008"
        "000000000000000000000000000000000000000000000000000000000000800a"
        "f5d05ab07f85804d4673664019def552e59b9564cb3ee49848a54c9f5f5c6d1d"
    )
    leaf = "89f8dfac8e5ea343ad2c3d9e5cbb3013931dceafc93ad6ad8b1aaba35ece8b96"
    assert log.leaf().hex() == leaf


def test_the_status_of_the_worked_example() -> None:
    log = L2ToL1Log.of_status(0, Hash32(keccak256(b"priority-tx")), succeeded=True)
    leaf = "ac28b2e7b87b07e1dc673493a756996b41a2de3da7a3ea6e536d224767dae0e4"
    assert log.leaf().hex() == leaf


@pytest.mark.parametrize(
    ("message", "leaf"),
    [
        (
            bytes.fromhex(
                "6c0960f936615cf349d7f6344891b1e7ca7c72883f5dc049"
                "00000000000000000000000000000000000000000000000000000001a13b8600"
            ),
            "521bd25904766c83fe868d6a29cbffa011afd8a1754f6c9a52b053b693e42f18",
        ),
        (
            b"Some L2->L1 message",
            "7d1514b899c47434640ec6febdf7ddc52902fd307919bd6c4024f16b218c8876",
        ),
    ],
)
def test_messages_have_the_leaves_that_clients_compute(message: bytes, leaf: str) -> None:
    assert message_log(0, ALICE, message).leaf().hex() == leaf


def test_the_published_constants() -> None:
    empty = "72abee45b59e344af8a6e520241c4744aff26ed411f4c4b00f8af09adada43ba"
    topic = "3a36e47291f4201faf137fab081d92295bce2d53be2c6ca68ba82c7faa9ce241"
    assert DEFAULT_LEAF.hex() == empty
    assert L1_MESSAGE_SENT.hex() == topic
    assert int.from_bytes(L1_MESSENGER) == 0x8008


@pytest.mark.parametrize(
    ("depth", "root"),
    [
        (1, "c3d03eebfd83049991ea3d3e358b6712e7aa2e2e63dc2d4b438987cec28ac8d0"),
        (9, "124b05ec272cecd7538fdafe53b6628d31188ffb6f345139aac3c3c1fd2e470f"),
        (14, "375a5bf909cb02143e3695ca658e0641e739aa590f0004dba93572c44cdb9d2d"),
    ],
)
def test_empty_subtrees_grow_from_the_default_leaf(depth: int, root: str) -> None:
    node: bytes = DEFAULT_LEAF
    for _ in range(depth):
        node = keccak256(node + node)
    assert node.hex() == root


@pytest.mark.parametrize(
    ("packed", "problem"),
    [
        (bytes(87), "an L2-to-L1 log is 88 bytes, got 87"),
        (bytes(89), "an L2-to-L1 log is 88 bytes, got 89"),
        (b"\x00\x02" + bytes(86), "isService: a flag is 0 or 1, got 2"),
    ],
)
def test_other_bytes_are_no_log(packed: bytes, problem: str) -> None:
    with pytest.raises(MalformedValue, match=problem):
        L2ToL1Log.unpack(packed)


def test_a_transaction_number_that_no_batch_has_is_rejected() -> None:
    log = message_log(65_536, ALICE, b"")
    with pytest.raises(MalformedValue, match="txNumberInBatch: a batch has at most 65536"):
        log.pack()
