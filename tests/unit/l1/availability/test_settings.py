"""What L1 knows of a chain for good, read from its contract."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from entresol._native import keccak256
from entresol.errors import (
    EntresolError,
    ExecutionHalted,
    ExecutionReverted,
    LayerOneMismatch,
    LayerOneUnreachable,
)
from entresol.l1.availability.settings import L1ChainSettings, read_settings
from entresol.primitives import abi
from entresol.primitives.values import Address
from tests.support.contracts.batches import Batch
from tests.support.rollup.layer_ones import ECHO, REVERTER, SteeredLayerOne, layer_one
from tests.support.rollup.settlement_contracts import deploy_one

CHAIN = Address(b"\xcc" * 20)
TRUE, FALSE = ((it).to_bytes(32) for it in (1, 0))
UNKNOWN = keccak256(b"UnknownSelector(bytes4)")[:4]
IS_DEVELOPMENT = abi.encode_call("isDevelopment()")
PAIR = abi.encode_call("getDAValidatorPair()")


class Answering:
    """An L1 with one contract, whose functions return or raise what a test says."""

    name = "L1"

    def __init__(self, answers: Mapping[bytes, bytes | EntresolError]) -> None:
        self._answers = answers

    async def call(self, to: Address, data: bytes, *, block: object) -> bytes:
        """Return the answer to a call."""
        assert (to, block) == (CHAIN, None)
        answer = self._answers[data]
        if isinstance(answer, bytes):
            return answer
        raise answer


def read(answers: Mapping[bytes, bytes | EntresolError]) -> L1ChainSettings:
    return asyncio.run(read_settings(Answering(answers), CHAIN))  # type: ignore[arg-type]


@pytest.mark.parametrize("is_development", [True, False])
@pytest.mark.parametrize("scheme", [1, 3])
def test_a_chain_is_read_as_it_was_created(
    steered: SteeredLayerOne, is_development: bool, scheme: int
) -> None:
    async def play() -> None:
        chain, _ = await deploy_one(
            *(steered.l1, 270, Batch(number=0)), data_scheme=scheme, is_development=is_development
        )
        found = await read_settings(steered.l1, chain)
        assert found == L1ChainSettings(is_development=is_development, data_scheme=scheme)
        assert found.publishes is (scheme == 3)
        await steered.l1.close()

    asyncio.run(play())


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
