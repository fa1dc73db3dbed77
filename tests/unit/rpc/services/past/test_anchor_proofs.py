"""Proofs of the block that a fork stands on: the remote's, checked against the state root that clients see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.fork_genesis import AnchoredAccount, fork_genesis
from entresol.chain.rules import ChainRules
from entresol.primitives.anchor import Anchor
from entresol.primitives.values import Address
from tests.support.chain.api_client import ApiClient
from tests.support.fork.fake_remote import FakeRemote
from tests.support.fork.past import PastOfChain
from tests.support.fork.remote_node import (
    BALANCE,
    CHAIN_ID,
    CONTRACT,
    HOLDER,
    NOBODY,
    served_chain,
)
from tests.support.fork.running_fork import RunningApi, running_api
from tests.support.rpc_client import RpcError

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
    assert fork("eth_getProof", str(RICH), [], "latest")["balance"] == hex(10**18)
    assert "eth_getProof" not in fork.remote.asked


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
