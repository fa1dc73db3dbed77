"""Chains beside others of a Bridgehub."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from entresol.l1.availability.chain_finder import L1ChainSettings, read_settings
from entresol.l1.deployment import (
    Deployment,
    RegisteredChain,
    Registration,
    SettlementContracts,
    chain_creation,
    send_step,
)
from entresol.l1.layer_one import LayerOne
from entresol.l1.operator import Operator
from entresol.l1.registration import find_ecosystem, register
from entresol.primitives.base_token import ETH_TOKEN, asset_id
from entresol.primitives.values import Address, Hash32, create_address
from tests.support.played import played
from tests.support.rollup.layer_ones import ACCOUNTS, layer_one

OWNER = ACCOUNTS[0]
FIRST = RegisteredChain(
    chain_id=270, operator=OWNER.address, genesis_batch_hash=Hash32(b"\x07" * 32)
)
SECOND = msgspec.structs.replace(FIRST, chain_id=271)
MORE: list[dict[str, Any]] = [
    {"is_development": False},
    {"data_scheme": 3},
    {"is_development": False, "data_scheme": 3},
]


def run(play: Callable[[LayerOne], Awaitable[None]]) -> None:
    async def whole(l1: LayerOne) -> None:
        try:
            await play(l1)
        finally:
            await l1.close()

    with layer_one("embedded") as started:
        asyncio.run(whole(started.l1))


async def deployed(l1: LayerOne) -> SettlementContracts:
    """Deploy the contracts with the first chain."""
    plan = Deployment(l1_chain_id=await l1.chain_id(), deployer=OWNER.address, chains=(FIRST,))
    owner = Operator(l1, OWNER.secret)
    for nonce, step in enumerate(plan.steps()):
        await send_step(l1, owner, step, nonce)
    return plan.contracts


async def add(l1: LayerOne, contracts: SettlementContracts, chain: RegisteredChain) -> Address:
    """Create the contract of another chain on the facets that are there, and register it."""
    shared, owner = await find_ecosystem(l1, contracts.bridgehub), Operator(l1, OWNER.secret)
    nonce = await l1.nonce(OWNER.address)
    created = create_address(OWNER.address, nonce)
    step = chain_creation(chain, contracts, OWNER.address, shared.facets)
    await send_step(l1, owner, step, nonce)
    call = Registration(
        bridgehub=contracts.bridgehub,
        chain_id=chain.chain_id,
        chain_type_manager=contracts.chain_type_manager,
        chain=created,
        base_token=asset_id(await l1.chain_id(), ETH_TOKEN),
        genesis_batch_hash=chain.genesis_batch_hash,
    )
    await register(l1, owner, call)
    return created


@pytest.mark.parametrize("more", MORE)
@played(run)
async def test_any_chain_joins_others(l1: LayerOne, more: dict[str, Any]) -> None:
    chain = msgspec.structs.replace(SECOND, **more)

    contracts = await deployed(l1)
    created = await add(l1, contracts, chain)
    expected = L1ChainSettings(is_development=chain.is_development, data_scheme=chain.data_scheme)
    assert await read_settings(l1, created) == expected
