"""Public networks, on which the contracts are not deployed."""

from __future__ import annotations

import msgspec
import pytest

from entresol.contracts import artifact
from entresol.contracts.slots import Value, Word, storage_of
from entresol.l1.deployment import Deployment, RegisteredChain, addresses_of
from entresol.l1.embedded_genesis import (
    TOKEN_REGISTRAR,
    Holding,
    deployment_accounts,
    development_problem,
    development_token,
    fund_vault,
    is_public_network,
)
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken, asset_id
from entresol.primitives.values import Address, Hash32
from tests.support.known import known

DEPLOYER, ALICE = Address(b"\xde" * 20), Address(b"\xa1" * 20)
ZOO, APE = development_token("ZOO", 18), development_token("APE", 6)


def deployment_of(*tokens: BaseToken, registrar: Address | None = TOKEN_REGISTRAR) -> Deployment:
    return Deployment(
        l1_chain_id=31337,
        deployer=DEPLOYER,
        registrar=registrar,
        chains=tuple(
            RegisteredChain(
                chain_id=270 + index,
                operator=DEPLOYER,
                genesis_batch_hash=Hash32(b"\1" * 32),
                base_token=token,
            )
            for index, token in enumerate(tokens)
        ),
    )


def words(contract: str, name: str, value: Value) -> dict[Hash32, Hash32]:
    return storage_of(artifact(contract), {name: value})


def test_the_address_of_a_token_stays_when_its_contract_changes() -> None:
    assert str(ZOO.l1_address) == "0xac2203d466e2a979897512615fd0809c8c99e01e"


def test_the_vault_starts_with_what_each_chain_has_allocated_of_its_token() -> None:
    deployment = deployment_of(ZOO, ETHER_TOKEN, ZOO, APE)
    amounts = {270: 5, 271: 7, 272: 11, 273: 13}
    accounts = fund_vault(
        deployment_accounts(deployment, "prague"),
        deployment,
        amounts,
        [Holding(ZOO.l1_address, ALICE, 3)],
    )

    address = deployment.contracts.native_token_vault
    vault = accounts[address]
    assert vault.balance == 7
    for chain_id, token in ((270, ZOO), (271, ETHER_TOKEN), (272, ZOO), (273, APE)):
        asset = asset_id(31337, token.l1_address)
        books: dict[Word, Value] = {chain_id: {asset: amounts[chain_id]}}
        assert words("L1NativeTokenVault", "chainBalance", books).items() <= vault.storage.items()
        registered = words("L1NativeTokenVault", "assetId", {token.l1_address: asset})
        assert registered.items() <= vault.storage.items()
    zoo = accounts[ZOO.l1_address].storage
    assert words("TestERC20", "balanceOf", {address: 16, ALICE: 3}).items() <= zoo.items()
    assert words("TestERC20", "totalSupply", 19).items() <= zoo.items()
    ape = accounts[APE.l1_address].storage
    assert words("TestERC20", "totalSupply", 13).items() <= ape.items()


@pytest.mark.parametrize("tokens", [(ZOO, ZOO, ETHER_TOKEN, APE, ZOO), (ETHER_TOKEN, ZOO, APE)])
def test_contracts_follow_the_registrations_that_a_deployer_sends_itself(
    tokens: tuple[BaseToken, ...],
) -> None:
    deployment = deployment_of(*tokens, registrar=None)
    accounts = deployment_accounts(deployment, "prague")

    assert accounts[DEPLOYER].nonce == len(deployment.steps())
    for chain in deployment.chains:
        assert accounts[deployment.contracts_of(chain.chain_id).chain].code


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


@pytest.mark.parametrize("chain_id", [9, 270, 1337, 31337])
def test_the_ids_of_development_chains_are_known(chain_id: int) -> None:
    assert development_problem(chain_id, is_development=False) is None


# Scroll, Zora, Taiko, Monad, Plasma, and one that nobody has yet.
@pytest.mark.parametrize("chain_id", [534352, 7777777, 167000, 143, 9745, 987654321, 2**200])
def test_any_other_id_takes_a_flag(chain_id: int) -> None:
    problem = known(development_problem(chain_id, is_development=False))
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
