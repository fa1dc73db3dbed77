"""Base tokens in the genesis of the development L1."""

from __future__ import annotations

import msgspec
import pytest

from entresol.contracts import artifact
from entresol.contracts.slots import Value, Word, storage_of
from entresol.l1.deployment import Deployment, RegisteredChain
from entresol.l1.development_tokens import (
    TOKEN_REGISTRAR,
    Holding,
    development_token,
)
from entresol.l1.embedded_genesis import deployment_accounts, fund_vault
from entresol.primitives.base_token import ETH_TOKEN, ETHER_TOKEN, BaseToken, asset_id
from entresol.primitives.values import Address, Hash32

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


@pytest.mark.parametrize("tokens", [(ZOO, ZOO, ZOO), (ETHER_TOKEN, ZOO, APE)])
def test_base_tokens_move_no_contract_of_the_development_l1(tokens: tuple[BaseToken, ...]) -> None:
    plain, paid = deployment_of(*[ETHER_TOKEN] * 3), deployment_of(*tokens)
    accounts = deployment_accounts(paid, "prague")

    for chain_id in (270, 271, 272):
        assert paid.contracts_of(chain_id) == plain.contracts_of(chain_id)
        assert accounts[paid.contracts_of(chain_id).chain].code


@pytest.mark.parametrize("tokens", [(ZOO, ZOO, ETHER_TOKEN, APE, ZOO), (ETHER_TOKEN, ZOO, APE)])
def test_contracts_follow_the_registrations_that_a_deployer_sends_itself(
    tokens: tuple[BaseToken, ...],
) -> None:
    deployment = deployment_of(*tokens, registrar=None)
    accounts = deployment_accounts(deployment, "prague")

    assert accounts[DEPLOYER].nonce == len(deployment.steps())
    for chain in deployment.chains:
        assert accounts[deployment.contracts_of(chain.chain_id).chain].code


def test_a_deployment_for_chains_that_are_paid_in_ether_has_no_other_steps() -> None:
    plain = deployment_of(ETHER_TOKEN)
    renamed = deployment_of(msgspec.structs.replace(ETHER_TOKEN, symbol="XETH"))

    assert plain.steps() == renamed.steps()
    assert ETHER_TOKEN.l1_address == ETH_TOKEN
    assert all(step.sender is None for step in plain.steps())
