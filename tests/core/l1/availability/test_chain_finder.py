"""A chain that is found at a Bridgehub: by its id or because it is the only one, by logs or by state."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import closing

import pytest

from entresol.errors import (
    ChainNotRegistered,
    EntresolError,
    ExecutionHalted,
    ExecutionReverted,
    LayerOneMismatch,
    LayerOneUnreachable,
)
from entresol.l1 import deployment
from entresol.l1.availability.chain_finder import (
    ChainFinder,
    FoundChain,
    L1ChainSettings,
    read_settings,
)
from entresol.l1.deployment import Deployment, RegisteredChain, SettlementContracts
from entresol.l1.layer_one import L1Log, LayerOne
from entresol.l1.operator import Operator
from entresol.primitives import abi
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.batches import Batch
from tests.support.played import played
from tests.support.rollup.layer_ones import (
    ACCOUNTS,
    ECHO,
    REVERTER,
    Embedded,
    LyingLayerOne,
    SteeredLayerOne,
    layer_one,
    on_l1,
)
from tests.support.rollup.settlement_scenario import deploy_one

CHAIN = Address(b"\xcc" * 20)
TRUE, FALSE = ((number).to_bytes(32) for number in (1, 0))
IS_DEVELOPMENT = abi.encode_call("isDevelopment()")
PAIR = abi.encode_call("getDAValidatorPair()")


class Answering:
    """An L1 with one contract, whose functions return or raise what a test says."""

    name = "L1"

    def __init__(self, answers: Mapping[bytes, bytes | EntresolError]) -> None:
        self._answers = answers

    async def call(self, to: Address, data: bytes, *, block: object) -> bytes:
        assert (to, block) == (CHAIN, None)
        answer = self._answers[data]
        if isinstance(answer, bytes):
            return answer
        raise answer


def read(answers: Mapping[bytes, bytes | EntresolError]) -> L1ChainSettings:
    return asyncio.run(read_settings(Answering(answers), CHAIN))  # type: ignore[arg-type]


@pytest.mark.parametrize("is_development", [True, False])
@pytest.mark.parametrize("scheme", [1, 3])
async def test_a_chain_is_read_as_it_was_created(
    steered: SteeredLayerOne, is_development: bool, scheme: int
) -> None:
    chain, _ = await deploy_one(
        *(steered.l1, 270, Batch(number=0)), data_scheme=scheme, is_development=is_development
    )
    found = await read_settings(steered.l1, chain)
    assert found == L1ChainSettings(is_development=is_development, data_scheme=scheme)
    assert found.publishes is (scheme == 3)
    await steered.l1.close()


@pytest.mark.parametrize(
    "failure",
    [ExecutionReverted(b""), ExecutionReverted(b"\1\2\3\4"), ExecutionHalted("out of gas")],
    ids=["no such function", "another revert", "halt"],
)
def test_a_failure_does_not_make_a_chain_one_for_development(failure: EntresolError) -> None:
    with pytest.raises(LayerOneMismatch, match=r"isDevelopment\(\) of 0x.* on L1 fails"):
        read({IS_DEVELOPMENT: failure})


def test_an_l1_that_is_away_does_not_make_a_chain_one_for_development() -> None:
    with pytest.raises(LayerOneUnreachable):
        read({IS_DEVELOPMENT: LayerOneUnreachable("L1", "away")})


@pytest.mark.parametrize("scheme", [0, 2, 4, 255])
def test_a_scheme_that_is_not_known_is_an_error(scheme: int) -> None:
    with pytest.raises(LayerOneMismatch, match=f"by scheme {scheme}, which is not known here"):
        read({IS_DEVELOPMENT: FALSE, PAIR: bytes(32) + scheme.to_bytes(32)})


def test_a_chain_of_today_without_a_scheme_is_an_error() -> None:
    with pytest.raises(LayerOneMismatch, match=r"getDAValidatorPair\(\) of"):
        read({IS_DEVELOPMENT: TRUE, PAIR: ExecutionReverted(b"")})


@pytest.mark.parametrize("address", [CHAIN, ECHO, REVERTER], ids=["nothing", "echo", "reverter"])
def test_what_is_no_contract_of_a_chain_is_an_error(address: Address) -> None:
    with layer_one("embedded") as started, pytest.raises(LayerOneMismatch, match="isDevelopment"):
        asyncio.run(read_settings(started.l1, address))


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


async def found(l1: LayerOne, hub: Address, chain_id: int | None = None) -> FoundChain:
    return await ChainFinder(l1, hub).find(chain_id)


@played(on_l1)
async def test_the_only_chain_of_a_bridgehub_is_found_with_the_block_that_registered_it(
    l1: LayerOne, steered: SteeredLayerOne
) -> None:
    steered.mine(70)
    before = await l1.block_number()
    contracts = await deployed(l1, 3)
    it = await found(l1, contracts.bridgehub)
    assert (it.chain_id, it.contracts) == (270, contracts)
    assert it.settings.publishes
    assert before < it.first_block <= await l1.block_number()


@played(on_l1)
async def test_one_of_several_chains_has_to_be_named(l1: LayerOne) -> None:
    hub = (await deployed(l1, 3, 3)).bridgehub
    with pytest.raises(LayerOneMismatch, match=r"has the chains 270, 271: .* --chain-id"):
        await found(l1, hub)
    first, second = await found(l1, hub, 270), await found(l1, hub, 271)
    assert first.contracts.chain != second.contracts.chain


@played(on_l1)
async def test_a_chain_that_publishes_nothing_is_named(l1: LayerOne) -> None:
    hub = (await deployed(l1, 1)).bridgehub
    with pytest.raises(LayerOneMismatch, match="chain 270 publishes nothing on"):
        await found(l1, hub)


@played(on_l1)
async def test_what_is_not_registered_or_no_bridgehub_is_named(l1: LayerOne) -> None:
    contracts = await deployed(l1, 3)
    with pytest.raises(ChainNotRegistered, match="chain 999 is not registered"):
        await found(l1, contracts.bridgehub, 999)
    with pytest.raises(LayerOneMismatch, match="no contract at"):
        await found(l1, Address(b"\x77" * 20))
    with pytest.raises(LayerOneMismatch, match="is not a bridgehub"):
        await found(l1, contracts.chain)


class Silent(LyingLayerOne):
    """An L1 without any log, as of chains that are in its genesis."""

    async def logs(self, *_arguments: object) -> list[L1Log]:
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

    with closing(embedded.chain):
        asyncio.run(play())
