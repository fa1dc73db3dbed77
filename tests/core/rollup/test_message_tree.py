"""The message tree of a batch, compared with vectors of the protocol and with a full tree."""

from __future__ import annotations

import pytest

from entresol._native import keccak256
from entresol.errors import BatchOverflow
from entresol.primitives.l2_to_l1_logs import DEFAULT_LEAF, L2ToL1Log
from entresol.primitives.values import Address, Hash32
from entresol.rollup.message_tree import CAPACITY, EMPTY_ROOTS, MessageTree
from tests.support.contracts.merkle_trees import message_log

BASE_TOKEN = Address.parse("0x000000000000000000000000000000000000800a")
USER = Address.parse("0x36615Cf349d7F6344891B1e7CA7C72883F5dc049")
WITHDRAWAL = bytes.fromhex("6c0960f9") + USER + (10**15).to_bytes(32)

WORKED_EXAMPLE = (
    L2ToL1Log.of_status(0, Hash32(keccak256(b"priority-tx")), succeeded=True),
    message_log(1, BASE_TOKEN, WITHDRAWAL),
    message_log(2, Address((0x1234).to_bytes(20)), b"hello"),
)


def leaves(count: int) -> list[bytes]:
    return [keccak256(number.to_bytes(4)) for number in range(count)]


def tree_in_full(given_leaves: list[bytes]) -> list[list[bytes]]:
    levels = [given_leaves + [DEFAULT_LEAF] * (CAPACITY - len(given_leaves))]
    while len(levels[-1]) > 1:
        below = levels[-1]
        pairs = zip(below[::2], below[1::2], strict=True)
        levels.append([keccak256(left + right) for left, right in pairs])
    return levels


@pytest.mark.parametrize(
    ("height", "root"),
    [
        (1, "c3d03eebfd83049991ea3d3e358b6712e7aa2e2e63dc2d4b438987cec28ac8d0"),
        (5, "1798a1fd9c8fbb818c98cff190daa7cc10b6e5ac9716b4a2649f7c2ebcef2272"),
        (9, "124b05ec272cecd7538fdafe53b6628d31188ffb6f345139aac3c3c1fd2e470f"),
        (11, "fef7bd9f889811e59e4076a0174087135f080177302763019adaf531257e3a87"),
        (12, "a707d1c62d8be699d34cb74804fdd7b4c568b6c1a821066f126c680d4b83e00b"),
        (14, "375a5bf909cb02143e3695ca658e0641e739aa590f0004dba93572c44cdb9d2d"),
    ],
)
def test_empty_subtrees_have_the_roots_of_the_protocol(height: int, root: str) -> None:
    assert EMPTY_ROOTS[height].hex() == root


def test_a_batch_without_logs_has_the_root_recorded_on_a_testnet() -> None:
    tree = MessageTree([])
    assert tree.local_root == EMPTY_ROOTS[14]
    assert tree.root.hex() == "692f35c99f9c698852289ffecf07f6dd45770904521149d79aa85aae598fa375"


def test_three_logs_have_the_root_of_the_worked_example() -> None:
    tree = MessageTree.of_logs(b"".join(log.pack() for log in WORKED_EXAMPLE))
    proof = tree.prove(1)
    assert WORKED_EXAMPLE[1].leaf().hex() == (
        "89f8dfac8e5ea343ad2c3d9e5cbb3013931dceafc93ad6ad8b1aaba35ece8b96"
    )
    assert tree.local_root.hex() == (
        "79a4f7095a7e855764386ab6a5e23492148df43882ecbf53796a76df0368b75c"
    )
    assert proof.root.hex() == "312af259f31040b79a03132288c63155d21e9d94dd3f4181d1c35f08b9e134a1"
    assert proof.id == 1
    assert [word.hex() for word in proof.words[:4]] == [
        "010f0001" + "00" * 28,
        "ac28b2e7b87b07e1dc673493a756996b41a2de3da7a3ea6e536d224767dae0e4",
        "66ca0406d7b44bbc77b2050eccea9ae7b85fd0b3220d440843282a7c12f94cd5",
        "e3697c7f33c31a9b0f0aeb8542287d0d21e8c4cf82163d0c44c7a98aa11aa111",
    ]
    assert proof.words[4:] == (*EMPTY_ROOTS[3:14], Hash32.zero())


def test_a_single_message_has_the_root_of_other_implementations() -> None:
    log = message_log(0, USER, b"Some L2->L1 message")
    aggregated = Hash32.parse("a9dab58cc1c014fc8188b493c38c9a498a0dbb6a80e4389f9faaf356b1f59aaa")
    tree = MessageTree([log.leaf()], aggregated)
    assert tree.local_root.hex() == (
        "1882a25386d56262578f54dad799aa77081a1050ffd535ac489ffa58659af8d1"
    )
    assert tree.root.hex() == "a328ba730ec0c294d961ebf7f8792abdb27865be44d9ed8ca173a4c12b23b16e"
    assert tree.prove(0).words[1:] == (*EMPTY_ROOTS[:14], aggregated)


@pytest.mark.parametrize("count", [1, 2, 3, 255, 1_000, CAPACITY - 1, CAPACITY])
def test_the_sparse_tree_equals_the_full_tree(count: int) -> None:
    levels = tree_in_full(leaves(count))
    tree = MessageTree(leaves(count))
    assert tree.local_root == levels[-1][0]
    for index in {0, count // 2, count - 1}:
        expected = [levels[height][(index >> height) ^ 1] for height in range(14)]
        assert list(tree.path(index)) == expected


@pytest.mark.parametrize("index", [-1, 2, CAPACITY])
def test_there_is_no_proof_of_a_leaf_that_has_no_log(index: int) -> None:
    with pytest.raises(IndexError):
        MessageTree(leaves(2)).prove(index)


def test_more_logs_than_leaves_are_rejected() -> None:
    with pytest.raises(BatchOverflow, match="16384 leaves, got 16385"):
        MessageTree(leaves(CAPACITY + 1))
