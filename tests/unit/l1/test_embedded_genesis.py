"""Public networks, on which the contracts are not deployed."""

from __future__ import annotations

import msgspec
import pytest

from entresol.contracts import artifact
from entresol.contracts.slots import Value, storage_of
from entresol.l1.deployment import Deployment, RegisteredChain, addresses_of
from entresol.l1.embedded_genesis import deployment_accounts, development_problem, is_public_network
from entresol.primitives.values import Address, Hash32

ZERO = Address.zero()
SALT = Hash32(b"\5" * 32)


def deployment_on(l1_chain_id: int) -> Deployment:
    return Deployment(
        l1_chain_id=l1_chain_id,
        deployer=ZERO,
        chains=(RegisteredChain(chain_id=2, operator=ZERO, genesis_batch_hash=Hash32(b"\1" * 32)),),
    )


@pytest.mark.parametrize(
    "chain_id", [1, 10, 56, 100, 137, 324, 8453, 17000, 42161, 560048, 11155111]
)
def test_a_public_network_is_recognised_by_its_chain_id(chain_id: int) -> None:
    assert is_public_network(chain_id)
    for is_development in (False, True):
        problem = development_problem(chain_id, is_development=is_development)
        assert f"{chain_id} is the chain id of a public network" in str(problem)


@pytest.mark.parametrize("chain_id", [9, 270, 1337, 31337, 2**64 - 1, 2**64, 2**200])
def test_any_other_network_is_not_public(chain_id: int) -> None:
    assert not is_public_network(chain_id)


@pytest.mark.parametrize("chain_id", [9, 270, 1337, 31337])
def test_the_ids_of_development_chains_are_known(chain_id: int) -> None:
    assert development_problem(chain_id, is_development=False) is None


# Scroll, Zora, Taiko, Monad, Plasma, and one that nobody has yet.
@pytest.mark.parametrize("chain_id", [534352, 7777777, 167000, 143, 9745, 987654321, 2**200])
def test_any_other_id_takes_a_flag(chain_id: int) -> None:
    problem = development_problem(chain_id, is_development=False)
    assert problem is not None
    assert "--l1-development" in problem or "public network" in problem
    if not is_public_network(chain_id):
        assert development_problem(chain_id, is_development=True) is None


def test_the_genesis_with_the_chain_id_of_a_public_network_lacks_the_verifier_alone() -> None:
    """It is compared with that of an older chain, whose contracts have the same addresses."""

    def codes(l1_chain_id: int) -> set[Address]:
        accounts = deployment_accounts(deployment_on(l1_chain_id), "prague")
        return {address for address, account in accounts.items() if account.code}

    assert codes(31337) - codes(1) == {addresses_of(ZERO).verifier}


@pytest.mark.parametrize("chain_id", [1, 8453, 31337])
def test_a_copy_of_any_network_has_all_contracts_at_their_addresses_and_the_verifier_for_forks(
    chain_id: int,
) -> None:
    usual = deployment_accounts(deployment_on(31337), "prague")
    copied = deployment_accounts(deployment_on(chain_id), "prague", salt=SALT)
    verifier = addresses_of(ZERO).verifier
    assert copied.keys() == usual.keys()
    assert {it: copied[it].nonce for it in copied} == {it: usual[it].nonce for it in usual}
    assert copied[verifier].code == artifact("ForkVerifier").runtime
    sizes = {it: len(copied[it].code) for it in copied if it != verifier}
    assert sizes == {it: len(usual[it].code) for it in usual if it != verifier}


@pytest.mark.parametrize(
    ("is_development", "scheme", "age", "lead"),
    [(True, 1, 2**40, 2**40), (True, 3, 2**40, 2**40), (False, 3, 7 * 86_400, 900)],
)
def test_a_chain_of_the_genesis_is_what_it_was_registered_as(
    is_development: bool, scheme: int, age: int, lead: int
) -> None:
    plain = deployment_on(31337)
    (chain,) = plain.chains
    registered = msgspec.structs.replace(chain, is_development=is_development, data_scheme=scheme)
    deployment = msgspec.structs.replace(plain, chains=(registered,))
    storage = deployment_accounts(deployment, "prague")[deployment.contracts.chain].storage
    values: dict[str, Value] = {
        "_daCommitmentScheme": scheme,
        "_maxBatchAge": age,
        "_maxClockLead": lead,
        "_chainId": 2,
        "_isProduction": not is_development,
    }
    ((slot, value),) = storage_of(artifact("ZKChain"), values).items()
    assert storage[slot] == value
