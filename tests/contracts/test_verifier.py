"""The verifier for development is not for public networks."""

from __future__ import annotations

import pytest

from tests.support.contracts.engine import L1_CHAIN_ID, Reverted
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
