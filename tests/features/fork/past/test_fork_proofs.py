"""Proofs of a fork: of its anchor, and of its own blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.fork_genesis import AnchoredAccount, fork_genesis
from entresol.chain.rules import ChainRules
from entresol.features.fork.past.remote import PastBlock
from entresol.primitives.anchor import Anchor
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain import served
from tests.support.chain.api_client import ApiClient
from tests.support.fork.fake_remote import FakeRemote
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
from tests.support.fork.past import PastOfChain
from tests.support.fork.remote_node import BALANCE, CHAIN_ID, CONTRACT, HOLDER, NOBODY, served_chain
from tests.support.fork.running_fork import RunningApi, running_api
from tests.support.rpc_client import DispatcherClient, RpcError

BLOCKS = 3
METHODS: list[tuple[Any, ...]] = [("eth_getProof", []), ("eth_getAccount",)]
RICH = Address(b"\xf0" * 20)


class Fork(NamedTuple):
    """A fork of a chain that proves its state, and the API of that chain."""

    client: RunningApi
    remote: PastOfChain
    theirs: ApiClient

    def __call__(self, method: str, *params: Any) -> Any:
        return self.client(method, *params)


@pytest.fixture(scope="module")
def theirs() -> Iterator[ApiClient]:
    with served_chain(BLOCKS) as client:
        yield client


@pytest.fixture
def fork(theirs: ApiClient) -> Iterator[Fork]:
    """Return a fork without blocks of its own, in which one account is rich."""
    past = PastOfChain(theirs, BLOCKS)
    anchor = Anchor.of_json(CHAIN_ID, past.anchor.json)
    with FakeRemote() as values:
        values.state = theirs.chain.latest
        genesis = fork_genesis(
            anchor, chain_id=CHAIN_ID, funded={RICH: AnchoredAccount()}, balance=10**18
        )
        rules = ChainRules.layer_1(CHAIN_ID)
        chain = Chain.open(None, rules, genesis, clock=Clock(lambda: 5_000.0), remote=values.table)
        with running_api(chain, remote=past) as client:
            yield Fork(client, past, theirs)


@pytest.mark.parametrize("address", [CONTRACT, HOLDER, NOBODY])
@pytest.mark.parametrize("block", ["latest", hex(BLOCKS)])
def test_a_proof_at_the_anchor_is_the_remotes(fork: Fork, address: Address, block: str) -> None:
    keys = [f"0x{slot:064x}" for slot in (1, 7, 5_000, 7)]
    found = fork("eth_getProof", str(address), keys, block)
    assert found == fork.theirs("eth_getProof", str(address), keys, hex(BLOCKS))


def test_an_account_at_the_anchor_has_the_storage_root_that_the_remote_proves(fork: Fork) -> None:
    found = fork("eth_getAccount", str(CONTRACT), "latest")
    assert found == fork.theirs("eth_getAccount", str(CONTRACT), hex(BLOCKS))
    assert fork("eth_getAccount", str(HOLDER), "latest")["balance"] == hex(BALANCE)


def test_an_account_that_the_fork_has_changed_is_proven_by_the_fork(fork: Fork) -> None:
    for block in ("latest", {"blockHash": str(fork.remote.anchor.hash)}):
        assert fork("eth_getProof", str(RICH), [], block)["balance"] == hex(10**18)
        assert fork("eth_getBalance", str(RICH), block) == hex(10**18)
    assert not fork.remote.asked


@pytest.mark.parametrize("address", [CONTRACT, HOLDER, NOBODY])
def test_an_edit_that_is_in_no_block_yet_is_in_proofs(fork: Fork, address: Address) -> None:
    fork("anvil_setBalance", str(address), "0x7")
    for method, *more in METHODS:
        assert fork(method, str(address), *more, "latest")["balance"] == "0x7"
    assert "eth_getProof" not in fork.remote.asked


def test_a_slot_that_is_edited_is_proven_and_others_of_its_contract_are_not(fork: Fork) -> None:
    fork("anvil_setStorageAt", str(CONTRACT), f"0x{1:064x}", f"0x{9:064x}")
    found = fork("eth_getProof", str(CONTRACT), [f"0x{1:064x}"], "latest")
    assert found["storageProof"][0]["value"] == "0x9"
    with pytest.raises(RpcError, match=r"slot 0x0+2 of .* is as the remote has it"):
        fork("eth_getProof", str(CONTRACT), [f"0x{2:064x}"], "latest")


def test_edits_of_other_accounts_leave_the_remotes_proofs(fork: Fork) -> None:
    fork("anvil_setBalance", str(NOBODY), "0x7")
    for method, *more in METHODS:
        expected = fork.theirs(method, str(CONTRACT), *more, hex(BLOCKS))
        assert fork(method, str(CONTRACT), *more, "latest") == expected


def test_a_false_proof_is_rejected_by_name(fork: Fork) -> None:
    fork.remote.results["eth_getProof"] = lambda _, found: found | {"balance": "0x99"}
    for method, *more in METHODS:
        with pytest.raises(RpcError, match=f"proof is not of the state root of block {BLOCKS}"):
            fork(method, str(CONTRACT), *more, "latest")


@pytest.mark.parametrize("result", [None, [], {}, {"accountProof": 7}, "0x"])
def test_what_is_no_proof_is_rejected_by_name(fork: Fork, result: Any) -> None:
    fork.remote.results["eth_getProof"] = lambda _, __: result
    with pytest.raises(RpcError, match=f"{CONTRACT} is as the remote has it, and the remote"):
        fork("eth_getProof", str(CONTRACT), [], "latest")


def test_a_remote_that_does_not_prove_is_named(fork: Fork) -> None:
    fork.remote.errors["eth_getProof"] = (-32601, "there is no such method")
    with pytest.raises(RpcError, match=r"the remote does not prove it: .*there is no such method"):
        fork("eth_getProof", str(CONTRACT), [], "latest")


def test_a_block_above_the_anchor_has_no_proof_of_the_remotes_accounts(fork: Fork) -> None:
    fork("anvil_mine")
    with pytest.raises(RpcError, match=f"{CONTRACT} is as the remote has it"):
        fork("eth_getProof", str(CONTRACT), [], "latest")
    assert fork("eth_getProof", str(CONTRACT), [], hex(BLOCKS))["nonce"] == "0x1"


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


class EditedFork(NamedTuple):
    """A fork that has changed a slot of a contract, in its first block."""

    chain: Chain
    client: DispatcherClient

    def __call__(self, method: str, *params: Any) -> Any:
        return self.client(method, *params)


@pytest.fixture(scope="module")
def edited() -> Iterator[EditedFork]:
    """Return a fork that knows all that the tests ask for."""
    with remote() as source:
        chain = open_fork(source)
        with waiting():
            seal(chain, call(3, 1, 100))
            for address in (OTHER, STORAGE, ALICE):
                chain.latest.account(address)
            for number in range(4):
                chain.latest.slot(STORAGE, number.to_bytes(32))
        api = served.served_chain(chain, InlineSequencer(chain), wake=lambda: None, remote=Silent())
        with closing(chain), closing(api):
            yield EditedFork(chain, DispatcherClient(api.dispatcher))


def test_eth_get_proof_proves_what_the_fork_changed(edited: EditedFork) -> None:
    proof = edited("eth_getProof", str(STORAGE), ["0x1"], "latest")
    assert proof["storageProof"][0]["value"] == hex(100)
    assert proof["balance"] == "0x5"
    root = edited("eth_getBlockByNumber", "latest", False)["stateRoot"]
    proven = edited.chain.state_trie.prove(bytes.fromhex(root[2:]), STORAGE)  # type: ignore[arg-type]
    assert [f"0x{node.hex()}" for node in proven.proof] == proof["accountProof"]


def test_eth_get_proof_of_a_slot_of_the_remote_is_rejected(edited: EditedFork) -> None:
    with pytest.raises(RpcError, match=f"slot 0x{2:064x} of {STORAGE} is as the remote has it"):
        edited("eth_getProof", str(STORAGE), ["0x1", "0x2"], "latest")
    # A slot that is zero for both is proven to be absent.
    assert (
        edited("eth_getProof", str(STORAGE), ["0x0"], "latest")["storageProof"][0]["value"] == "0x0"
    )


def test_eth_get_account_has_the_storage_root_of_what_the_fork_changed(edited: EditedFork) -> None:
    assert edited("eth_getAccount", str(STORAGE), "latest")["balance"] == "0x5"
    assert int(edited("eth_getAccount", str(ALICE), "latest")["balance"], 16) < 1_000 * ETHER
    with pytest.raises(RpcError, match=f"eth_getAccount .* {OTHER} is as the remote has it"):
        edited("eth_getAccount", str(OTHER), "latest")


def test_debug_account_range_has_the_accounts_that_the_fork_changed(edited: EditedFork) -> None:
    accounts = edited("debug_accountRange", "latest", "0x", 10)["accounts"]
    assert str(STORAGE) in accounts
    assert str(ALICE) in accounts
    assert str(OTHER) not in accounts


def test_debug_storage_range_has_the_slots_that_the_fork_changed(edited: EditedFork) -> None:
    head = edited("eth_blockNumber")
    before = edited("debug_storageRangeAt", head, 0, str(STORAGE), "0x", 10)
    assert before["storage"] == {}
    with waiting():
        seal(edited.chain, call(4, 1, 101))
    after = edited("debug_storageRangeAt", "latest", 0, str(STORAGE), "0x", 10)["storage"]
    assert [slot["value"] for slot in after.values()] == [f"0x{100:064x}"]


def test_debug_execution_witness_of_a_block_of_the_fork_is_rejected(edited: EditedFork) -> None:
    with pytest.raises(RpcError, match="debug_executionWitness is not served on a fork: a witness"):
        edited("debug_executionWitness", "latest")
    with pytest.raises(RpcError, match="not found"):
        edited("debug_executionWitness", hex(NUMBER + 100))


def test_trace_filter_covers_the_forks_own_blocks_and_says_so(edited: EditedFork) -> None:
    assert edited("trace_filter", {"fromBlock": hex(NUMBER), "toBlock": hex(NUMBER)}) == []
    with pytest.raises(RpcError, match=f"searches the fork's own blocks, from {NUMBER} on"):
        edited("trace_filter", {"fromBlock": "0x5", "toBlock": "latest"})
