"""A chain that is found at a Bridgehub: by its id or because it is the only one, by logs or by state."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from entresol.errors import (
    ChainNotRegistered,
    ChainPublishesNothing,
    LayerOneMismatch,
    SeveralChains,
)
from entresol.l1 import deployment
from entresol.l1.availability.chain_finder import ChainFinder, FoundChain
from entresol.l1.deployment import Deployment, RegisteredChain, SettlementContracts
from entresol.l1.layer_one import L1Log, LayerOne
from entresol.l1.operator import Operator
from entresol.primitives.values import Address, Hash32
from tests.support.rollup.layer_ones import ACCOUNTS, Embedded, LyingLayerOne, SteeredLayerOne

OWNER = ACCOUNTS[0]


async def deployed(l1: LayerOne, *schemes: int) -> SettlementContracts:
    """Deploy a Bridgehub with a chain for each scheme, of ids from 270 on."""
    chains = [
        RegisteredChain(
            chain_id=270 + index,
            operator=OWNER.address,
            genesis_batch_hash=Hash32(b"\x01" * 32),
            data_scheme=scheme,
        )
        for index, scheme in enumerate(schemes)
    ]
    planned = Deployment(
        l1_chain_id=await l1.chain_id(),
        deployer=OWNER.address,
        first_nonce=await l1.nonce(OWNER.address),
        chains=tuple(chains),
    )
    operator = Operator(l1, OWNER.secret)
    return await deployment.deploy(l1, operator, planned, lambda _done, _steps, _what: None)


def run(l1: LayerOne, play: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            await play()
        finally:
            await l1.close()

    asyncio.run(whole())


async def found(l1: LayerOne, hub: Address, chain_id: int | None = None) -> FoundChain:
    return await ChainFinder(l1, hub).find(chain_id)


def test_the_only_chain_of_a_bridgehub_is_found_with_the_block_that_registered_it(
    steered: SteeredLayerOne,
) -> None:
    async def play() -> None:
        steered.mine(70)
        before = await steered.l1.block_number()
        contracts = await deployed(steered.l1, 3)
        it = await found(steered.l1, contracts.bridgehub)
        assert (it.chain_id, it.contracts) == (270, contracts)
        assert it.settings.publishes
        assert before < it.first_block <= await steered.l1.block_number()

    run(steered.l1, play)


def test_one_of_several_chains_has_to_be_named(steered: SteeredLayerOne) -> None:
    async def play() -> None:
        hub = (await deployed(steered.l1, 3, 3)).bridgehub
        with pytest.raises(SeveralChains, match=r"has the chains 270, 271: .* --chain-id"):
            await found(steered.l1, hub)
        first, second = await found(steered.l1, hub, 270), await found(steered.l1, hub, 271)
        assert first.contracts.chain != second.contracts.chain

    run(steered.l1, play)


def test_a_chain_that_publishes_nothing_is_named(steered: SteeredLayerOne) -> None:
    async def play() -> None:
        hub = (await deployed(steered.l1, 1)).bridgehub
        with pytest.raises(ChainPublishesNothing, match="chain 270 publishes nothing on"):
            await found(steered.l1, hub)

    run(steered.l1, play)


def test_what_is_not_registered_or_no_bridgehub_is_named(steered: SteeredLayerOne) -> None:
    async def play() -> None:
        contracts = await deployed(steered.l1, 3)
        with pytest.raises(ChainNotRegistered, match="chain 999 is not registered"):
            await found(steered.l1, contracts.bridgehub, 999)
        with pytest.raises(LayerOneMismatch, match="no contract at"):
            await found(steered.l1, Address(b"\x77" * 20))
        with pytest.raises(LayerOneMismatch, match="is no bridgehub"):
            await found(steered.l1, contracts.chain)

    run(steered.l1, play)


class Silent(LyingLayerOne):
    """An L1 without any log, as of chains that are in its genesis."""

    async def logs(self, *_arguments: object) -> list[L1Log]:
        """Return nothing."""
        return []


def test_a_chain_without_an_event_is_found_by_the_state() -> None:
    embedded = Embedded()

    async def play() -> None:
        embedded.mine(70)
        contracts = await deployed(embedded.l1, 3)
        l1 = Silent(embedded.chain, embedded.sequencer)
        it = await ChainFinder(l1, contracts.bridgehub).find(270)
        assert it.contracts.chain == contracts.chain
        assert it.first_block < await l1.block_number()
        assert (await ChainFinder(l1, contracts.bridgehub, 5).find(270)).first_block == 5

    try:
        asyncio.run(play())
    finally:
        embedded.chain.close()
