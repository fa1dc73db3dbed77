"""Deployment of the contracts on an empty L1, and their discovery from the bridgehub."""

from __future__ import annotations

import msgspec
import pytest

from entresol.errors import LayerOneMismatch
from entresol.l1.contracts import ZkChain, read_contract
from entresol.l1.deployment import (
    Deployment,
    RegisteredChain,
    SettlementContracts,
    deploy,
    facets_of,
)
from entresol.l1.discovery import find_contracts
from entresol.l1.layer_one import LayerOne
from entresol.l1.operator import Operator
from entresol.l1.registration import pairs_with_all, register_pairs
from entresol.primitives.values import Address, Hash32
from tests.support.played import played
from tests.support.rollup.layer_ones import ACCOUNTS, REVERTER, on_l1

OWNER, VALIDATOR = ACCOUNTS[0], ACCOUNTS[1]
GENESIS = Hash32(b"\x07" * 32)


async def planned(l1: LayerOne) -> Deployment:
    return Deployment(
        l1_chain_id=await l1.chain_id(),
        deployer=OWNER.address,
        first_nonce=await l1.nonce(OWNER.address),
        chains=(
            RegisteredChain(chain_id=270, operator=VALIDATOR.address, genesis_batch_hash=GENESIS),
        ),
    )


async def deployed(l1: LayerOne, progress: list[str] | None = None) -> SettlementContracts:
    told = [] if progress is None else progress
    deployment = await planned(l1)
    owner = Operator(l1, OWNER.secret)
    return await deploy(l1, owner, deployment, lambda _done, _steps, what: told.append(what))


@played(on_l1)
async def test_the_contracts_are_deployed_and_found_again(l1: LayerOne) -> None:
    progress: list[str] = []
    contracts = await deployed(l1, progress)
    assert progress[0] == "deploy Bridgehub"
    assert progress[-1] == "done"
    assert await find_contracts(l1, contracts.bridgehub, 270) == contracts
    addresses = [contracts.chain, contracts.nullifier, contracts.native_token_vault]
    addresses.append(contracts.bytecodes_supplier)
    assert all([await l1.code(address) for address in addresses])
    chain = ZkChain(l1, contracts.chain)
    assert await chain.chain_id() == 270
    assert await chain.stored_batch_hash(0) == GENESIS
    asked = (270, 10**9, 1_000_000, 800)
    signature = "l2TransactionBaseCost(uint256,uint256,uint256,uint256)"
    assert await read_contract(l1, contracts.bridgehub, signature, "uint256", *asked) > 0


@played(on_l1)
async def test_a_chain_has_its_facets(l1: LayerOne) -> None:
    first = await l1.nonce(OWNER.address)
    contracts = await deployed(l1)
    facets = facets_of(OWNER.address, first)
    found = await read_contract(l1, contracts.chain, "facetAddresses()", "address[]")
    assert tuple(map(Address, found)) == (contracts.chain, *facets)


@played(on_l1)
async def test_chains_are_told_of_each_other_once(l1: LayerOne) -> None:
    plan = await planned(l1)
    (first,) = plan.chains
    plan = msgspec.structs.replace(
        plan, chains=(first, msgspec.structs.replace(first, chain_id=271))
    )
    owner = Operator(l1, OWNER.secret)
    contracts = await deploy(l1, owner, plan, lambda *_: None)
    pairs = [(270, 271), (271, 270)]
    for _ in range(2):
        await register_pairs(l1, owner, contracts, pairs)
        for chain_id in (270, 271):
            chain = ZkChain(l1, plan.contracts_of(chain_id).chain)
            assert await chain.total_priority_transactions() == 1
    assert await pairs_with_all(l1, contracts.bridgehub, 270) == pairs


@played(on_l1)
async def test_an_error_names_the_missing_contract_or_chain(l1: LayerOne) -> None:
    nowhere = Address(b"\x0f" * 20)

    with pytest.raises(LayerOneMismatch, match=r"there is no contract at 0x0f0f"):
        await find_contracts(l1, nowhere, 270)
    with pytest.raises(LayerOneMismatch, match="is not a bridgehub: execution reverted"):
        await find_contracts(l1, REVERTER, 270)
    contracts = await deployed(l1)
    with pytest.raises(LayerOneMismatch, match="chain 271 is not registered"):
        await find_contracts(l1, contracts.bridgehub, 271)
