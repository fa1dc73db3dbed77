"""The verifier for development is not for public networks; that for forks cannot be deployed at all."""

from __future__ import annotations

import pytest

from entresol._native import Account, keccak256
from entresol.primitives.values import Address
from tests.support.contracts.engine import L1_CHAIN_ID, Contract, Reverted, find
from tests.support.contracts.l1_contracts import DEPLOYER, Deployed

ETHEREUM = [1, 11155111, 17000, 560048]
SIDE_CHAINS = [100, 10200, 56, 97, 137, 80002, 43114, 250, 146, 42220, 25]
ROLLUPS = [42161, 42170, 421614, 10, 11155420, 8453, 84532, 5000, 81457, 130]
ZK_ROLLUPS = [324, 300, 9075, 2741, 232, 59144, 534352, 1101, 167000]
PUBLIC = [*ETHEREUM, *SIDE_CHAINS, *ROLLUPS, *ZK_ROLLUPS]
PRIVATE = [1337, L1_CHAIN_ID, 9, 270, 260, 32382, 3151908, 2**64 - 1]

PROOF = ([7], [3, 0, 13, 7])


@pytest.mark.parametrize("chain_id", PUBLIC)
def test_it_is_not_deployed_on_a_public_network(l1: Deployed, chain_id: int) -> None:
    l1.engine.chain_id = chain_id
    with pytest.raises(Reverted) as rejection:
        l1.engine.deploy("DevelopmentVerifier", sender=DEPLOYER)
    assert rejection.value.args == ("FakeProofsOnPublicNetwork", chain_id)


@pytest.mark.parametrize("chain_id", PUBLIC)
def test_it_verifies_nothing_where_its_code_got_onto_a_public_network(
    l1: Deployed, chain_id: int
) -> None:
    l1.engine.chain_id = chain_id
    with pytest.raises(Reverted) as rejection:
        l1.engine.send(DEPLOYER, l1.verifier, "verify", *PROOF)
    assert rejection.value.args == ("FakeProofsOnPublicNetwork", chain_id)


@pytest.mark.parametrize("chain_id", PRIVATE)
def test_it_accepts_fake_proofs_on_a_network_for_development(l1: Deployed, chain_id: int) -> None:
    l1.engine.chain_id = chain_id
    verifier = l1.engine.deploy("DevelopmentVerifier", sender=DEPLOYER)
    assert l1.engine.send(DEPLOYER, verifier, "verify", *PROOF) is True


@pytest.fixture
def fork_verifier(l1: Deployed) -> Contract:
    """Return the verifier for forks, whose code a node writes into the state."""
    artifact, address = find("ForkVerifier"), Address(b"\xf0" * 20)
    code = bytes(artifact.runtime)
    l1.engine.overlay.set_code(address, code)
    l1.engine.overlay.set_account(address, Account(1, 0, keccak256(code)))
    return Contract(address, artifact)


@pytest.mark.parametrize("chain_id", [*PUBLIC, *PRIVATE])
def test_no_transaction_deploys_the_verifier_for_forks(l1: Deployed, chain_id: int) -> None:
    l1.engine.chain_id = chain_id
    with pytest.raises(Reverted) as rejection:
        l1.engine.deploy("ForkVerifier", sender=DEPLOYER)
    assert rejection.value.args == ("OnlyOnAFork",)


def test_what_would_deploy_the_verifier_for_forks_does_not_have_its_code() -> None:
    artifact = find("ForkVerifier")
    assert bytes(artifact.runtime) not in bytes(artifact.bytecode)


@pytest.mark.parametrize("chain_id", [1, 8453, 31337])
def test_the_verifier_for_forks_accepts_fake_proofs_on_a_copy_of_any_network(
    l1: Deployed, fork_verifier: Contract, chain_id: int
) -> None:
    l1.engine.chain_id = chain_id
    assert l1.engine.send(DEPLOYER, fork_verifier, "verify", *PROOF) is True


@pytest.mark.parametrize(
    ("inputs", "proof", "error"),
    [
        ([], [3, 0, 13, 7], ("NoPublicInput",)),
        ([7], [3, 0, 13], ("NotAFakeProof",)),
        ([7], [2, 0, 13, 7], ("NotAFakeProof",)),
        ([7], [3, 1, 13, 7], ("NotAFakeProof",)),
        ([7], [3, 0, 12, 7], ("NotAFakeProof",)),
        ([7], [3, 0, 13, 8], ("PublicInputMismatch", 7, 8)),
    ],
)
def test_the_verifier_for_forks_rejects_what_the_one_for_development_rejects(
    l1: Deployed,
    fork_verifier: Contract,
    inputs: list[int],
    proof: list[int],
    error: tuple[object, ...],
) -> None:
    for verifier in (l1.verifier, fork_verifier):
        with pytest.raises(Reverted) as rejection:
            l1.engine.send(DEPLOYER, verifier, "verify", inputs, proof)
        assert rejection.value.args == error
