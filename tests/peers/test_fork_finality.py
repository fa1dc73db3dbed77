"""Safe and finalized blocks of a fork, and proofs of what was edited there, beside anvil's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.inprocess_node import inprocess_anvil

pytestmark = pytest.mark.peer

BLOCKS = 50
SOMEBODY = "0x" + "ab" * 20


@pytest.fixture(scope="module")
def remote() -> Iterator[Anvil]:
    with inprocess_anvil("anvil", "--chain-id", "99", "--timestamp", "1700000000") as node:
        node("anvil_mine", hex(BLOCKS))
        yield node


@pytest.fixture(scope="module", params=["anvil", "entresol"])
def fork(remote: Anvil, request: pytest.FixtureRequest) -> Iterator[Anvil]:
    flags = ("--fork-url", remote.url, "--no-storage-caching")
    is_peer = request.param == "anvil"
    with running_anvil(*flags) if is_peer else inprocess_anvil("anvil", *flags) as node:
        yield node


def test_safe_and_finalized_are_32_and_64_blocks_before_the_head(
    remote: Anvil, fork: Anvil
) -> None:
    for number, names in ((BLOCKS, (18, 0)), (BLOCKS + 20, (38, 6))):
        fork("anvil_mine", hex(number - int(fork("eth_blockNumber"), 16)))
        for tag, expected in zip(("safe", "finalized"), names, strict=True):
            block = fork("eth_getBlockByNumber", tag, False)
            assert block["hash"] == remote("eth_getBlockByNumber", hex(expected), False)["hash"]


def test_an_edit_is_in_the_proof_of_the_latest_block_before_the_next(fork: Anvil) -> None:
    fork("anvil_setBalance", SOMEBODY, "0x7")
    assert fork("eth_getProof", SOMEBODY, [], "latest")["balance"] == "0x7"
