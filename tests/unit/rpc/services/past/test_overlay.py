"""Proofs of a fork for its own blocks: what it has changed, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from entresol.chain.chain import Chain
from entresol.node.api.api import Api
from entresol.rpc.services.past.remote import PastBlock
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.fork.forked_chain import (
    ALICE,
    ANCHOR,
    ETHER,
    NUMBER,
    OTHER,
    STORAGE,
    call,
    open_fork,
    remote,
    seal,
    waiting,
)
from tests.support.rpc_client import DispatcherClient, RpcError


class Silent:
    """A remote that nothing is asked of."""

    host = "http://remote:8545"
    anchor = ANCHOR
    verifies = False
    hardfork = "osaka"

    def hardfork_of(self, _timestamp: int, _json: bytes) -> str:
        return self.hardfork

    async def read(self, method: str, params: Any, **_options: Any) -> Any:
        raise AssertionError((method, params))

    async def past_block(self, block: Any) -> PastBlock | None:
        raise AssertionError(block)

    def hash_at(self, _number: int) -> None:
        return None

    def table_at(self, number: int) -> Any:
        raise AssertionError(number)


class Fork(NamedTuple):
    """A fork that has changed a slot of a contract, in its first block."""

    chain: Chain
    client: DispatcherClient

    def __call__(self, method: str, *params: Any) -> Any:
        return self.client(method, *params)


@pytest.fixture(scope="module")
def fork() -> Iterator[Fork]:
    """Return a fork that knows all that the tests ask for."""
    with remote() as source:
        chain = open_fork(source)
        with waiting():
            seal(chain, call(3, 1, 100))
            for address in (OTHER, STORAGE, ALICE):
                chain.latest.account(address)
            for number in range(4):
                chain.latest.slot(STORAGE, number.to_bytes(32))
        api = Api(chain, InlineSequencer(chain), wake=lambda: None, remote=Silent())
        try:
            yield Fork(chain, DispatcherClient(api.dispatcher))
        finally:
            api.close()
            chain.close()


def test_eth_get_proof_proves_what_the_fork_changed(fork: Fork) -> None:
    proof = fork("eth_getProof", str(STORAGE), ["0x1"], "latest")
    assert proof["storageProof"][0]["value"] == hex(100)
    assert proof["balance"] == "0x5"
    root = fork("eth_getBlockByNumber", "latest", False)["stateRoot"]
    proven = fork.chain.state_trie.prove(bytes.fromhex(root[2:]), STORAGE)  # type: ignore[arg-type]
    assert [f"0x{node.hex()}" for node in proven.proof] == proof["accountProof"]


def test_eth_get_proof_of_a_slot_of_the_remote_is_rejected(fork: Fork) -> None:
    with pytest.raises(RpcError, match=f"slot 0x{2:064x} of {STORAGE} is as the remote has it"):
        fork("eth_getProof", str(STORAGE), ["0x1", "0x2"], "latest")
    # A slot that is zero for both is proven to be absent.
    assert (
        fork("eth_getProof", str(STORAGE), ["0x0"], "latest")["storageProof"][0]["value"] == "0x0"
    )


def test_eth_get_proof_of_an_account_of_the_remote_is_rejected(fork: Fork) -> None:
    with pytest.raises(RpcError, match=f"{OTHER} is as the remote has it.*below the anchor"):
        fork("eth_getProof", str(OTHER), [], "latest")


def test_eth_get_account_has_the_storage_root_of_what_the_fork_changed(fork: Fork) -> None:
    assert fork("eth_getAccount", str(STORAGE), "latest")["balance"] == "0x5"
    assert int(fork("eth_getAccount", str(ALICE), "latest")["balance"], 16) < 1_000 * ETHER
    with pytest.raises(RpcError, match=f"eth_getAccount .* {OTHER} is as the remote has it"):
        fork("eth_getAccount", str(OTHER), "latest")


def test_debug_account_range_has_the_accounts_that_the_fork_changed(fork: Fork) -> None:
    accounts = fork("debug_accountRange", "latest", "0x", 10)["accounts"]
    assert str(STORAGE) in accounts
    assert str(ALICE) in accounts
    assert str(OTHER) not in accounts


def test_debug_storage_range_has_the_slots_that_the_fork_changed(fork: Fork) -> None:
    head = fork("eth_blockNumber")
    before = fork("debug_storageRangeAt", head, 0, str(STORAGE), "0x", 10)
    assert before["storage"] == {}
    with waiting():
        seal(fork.chain, call(4, 1, 101))
    after = fork("debug_storageRangeAt", "latest", 0, str(STORAGE), "0x", 10)["storage"]
    assert [slot["value"] for slot in after.values()] == [f"0x{100:064x}"]


def test_debug_execution_witness_of_a_block_of_the_fork_is_rejected(fork: Fork) -> None:
    with pytest.raises(RpcError, match="debug_executionWitness is not served on a fork: a witness"):
        fork("debug_executionWitness", "latest")
    with pytest.raises(RpcError, match="not found"):
        fork("debug_executionWitness", hex(NUMBER + 100))


def test_trace_filter_covers_the_forks_own_blocks_and_says_so(fork: Fork) -> None:
    assert fork("trace_filter", {"fromBlock": hex(NUMBER), "toBlock": hex(NUMBER)}) == []
    with pytest.raises(RpcError, match=f"searches the fork's own blocks, from {NUMBER} on"):
        fork("trace_filter", {"fromBlock": "0x5", "toBlock": "latest"})
