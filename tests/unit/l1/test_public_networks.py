"""Public networks, on which the contracts are not deployed."""

from __future__ import annotations

import pytest

from entresol.errors import InvalidConfig
from entresol.l1.deployment import Deployment
from entresol.l1.embedded_genesis import deployment_accounts
from entresol.l1.public_networks import is_public_network, public_network_problem
from entresol.primitives.values import Address, Hash32


@pytest.mark.parametrize(
    "chain_id", [1, 10, 56, 100, 137, 324, 8453, 17000, 42161, 560048, 11155111]
)
def test_a_public_network_is_recognised_by_its_chain_id(chain_id: int) -> None:
    assert is_public_network(chain_id)
    assert f"{chain_id} is the chain id of a public network" in public_network_problem(chain_id)


@pytest.mark.parametrize("chain_id", [9, 270, 1337, 31337, 2**64 - 1, 2**64, 2**200])
def test_any_other_network_is_not_public(chain_id: int) -> None:
    assert not is_public_network(chain_id)


def test_a_development_l1_has_no_chain_id_of_a_public_network() -> None:
    zero = Address.zero()
    deployment = Deployment(
        l1_chain_id=1, chain_id=2, deployer=zero, operator=zero, genesis_batch_hash=Hash32.zero()
    )
    with pytest.raises(InvalidConfig, match="--l1-chain-id: 1 is the chain id of a public network"):
        deployment_accounts(deployment, "prague")
