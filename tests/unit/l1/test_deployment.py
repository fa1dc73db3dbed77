"""The contracts on an L1 that had none, and finding them again from one address."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from entresol._native import keccak256
from entresol.errors import LayerOneDiffers
from entresol.l1.contracts import Bridgehub, ZkChain
from entresol.l1.deployment import ETHER_TOKEN, ChainSettings, asset_id, deploy
from entresol.l1.discovery import L1Contracts, check_operator, find_contracts
from entresol.l1.layer_one import LayerOne
from entresol.l1.operator import Operator
from entresol.primitives.values import Address, Hash32
from tests.layer_ones import ACCOUNTS, REVERTER, SteeredLayerOne

OWNER, VALIDATOR = ACCOUNTS[0], ACCOUNTS[1]
GENESIS = Hash32(b"\x07" * 32)
SETTINGS = ChainSettings(chain_id=270, genesis_hash=GENESIS, validator=VALIDATOR.address)


def run(tested: SteeredLayerOne, play: Callable[[LayerOne], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            await play(tested.l1)
        finally:
            await tested.l1.close()

    asyncio.run(whole())


async def deployed(l1: LayerOne, progress: list[str] | None = None) -> L1Contracts:
    told = [] if progress is None else progress
    return await deploy(l1, Operator(l1, OWNER.secret), SETTINGS, told.append)


def test_the_contracts_are_deployed_and_found_again(tested: SteeredLayerOne) -> None:
    async def play(l1: LayerOne) -> None:
        progress: list[str] = []
        contracts = await deployed(l1, progress)
        assert progress[0] == "deploying Bridgehub"
        assert progress[-1] == "registering chain 270"
        assert await find_contracts(l1, contracts.bridgehub, 270) == contracts
        assert contracts.base_token == ETHER_TOKEN
        addresses = [contracts.chain, contracts.nullifier, contracts.native_token_vault]
        assert all([await l1.code(address) for address in addresses])
        chain = ZkChain(l1, contracts.chain)
        assert await chain.chain_id() == 270
        assert await chain.stored_batch_hash(0) == GENESIS
        hub = Bridgehub(l1, contracts.bridgehub)
        assert await hub.base_cost(270, 10**9, 1_000_000, 800) > 0
        await check_operator(l1, contracts, VALIDATOR.address)

    run(tested, play)


def test_what_is_missing_is_named(tested: SteeredLayerOne) -> None:
    nowhere = Address(b"\x0f" * 20)

    async def play(l1: LayerOne) -> None:
        with pytest.raises(LayerOneDiffers, match=r"there is no bridgehub on .* at 0x0f0f"):
            await find_contracts(l1, nowhere, 270)
        with pytest.raises(LayerOneDiffers, match="is no bridgehub: execution reverted"):
            await find_contracts(l1, REVERTER, 270)
        contracts = await deployed(l1)
        with pytest.raises(LayerOneDiffers, match="knows no chain 271"):
            await find_contracts(l1, contracts.bridgehub, 271)
        with pytest.raises(LayerOneDiffers, match="may not settle batches"):
            await check_operator(l1, contracts, nowhere)

    run(tested, play)


def test_an_operator_without_ether_is_told(tested: SteeredLayerOne) -> None:
    poor = Address(b"\x0e" * 20)

    async def play(l1: LayerOne) -> None:
        settings = ChainSettings(chain_id=270, genesis_hash=GENESIS, validator=poor)
        contracts = await deploy(l1, Operator(l1, OWNER.secret), settings)
        with pytest.raises(LayerOneDiffers, match="has no ether"):
            await check_operator(l1, contracts, poor)

    run(tested, play)


def test_ether_is_an_asset_by_the_chain_it_comes_from() -> None:
    assert asset_id(1, ETHER_TOKEN) != asset_id(31337, ETHER_TOKEN)
    words = [31337, 0x10004, 1]
    expected = keccak256(b"".join(word.to_bytes(32) for word in words))
    assert asset_id(31337, ETHER_TOKEN) == expected
