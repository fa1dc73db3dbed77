"""The block of a contract's deployment, found without reading logs."""

from __future__ import annotations

import asyncio
import contextlib
import random
from contextlib import closing

import pytest

from entresol.errors import EntresolError, LayerOneMalformed, LayerOneRejected
from entresol.l1.discovery import block_before_now, find_contracts, find_deployment_block
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.layer_one import MAX_REORG_DEPTH, LayerOne
from entresol.l1.operator import Operator
from entresol.l1.registration import find_ecosystem
from entresol.node.config.schema import NodeConfig
from entresol.node.settlement.remote_tokens import registered_token
from entresol.primitives.values import Address, create_address
from tests.robustness.false_answers import FalseAnswerRemote
from tests.support.played import played
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rollup.layer_ones import ACCOUNTS, Embedded, SteeredLayerOne, layer_one, on_l1
from tests.support.rollup.settlement_scenario import Scenario
from tests.support.rollup.settlement_scenario import run as run_settling
from tests.support.rollup.settling_chain import CHAIN_ID

DEPLOYER = ACCOUNTS[0]
# Returns one byte of code.
_INIT_CODE = bytes.fromhex("600160005360016000f3")


async def deploy(steered: SteeredLayerOne) -> tuple[Address, int]:
    """Deploy a contract between many blocks, and return its address and block."""
    steered.mine(200)
    l1 = steered.l1
    operator = Operator(l1, DEPLOYER.secret)
    signed = await operator.sign_call(None, _INIT_CODE)
    await operator.send(signed)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (receipt := await l1.receipt(signed.hash)) is None:
            pass
    assert receipt.succeeded
    steered.mine(100)
    return create_address(DEPLOYER.address, signed.nonce), receipt.block_number


@played(on_l1)
async def test_the_block_is_a_little_before_the_deployment(
    l1: LayerOne, steered: SteeredLayerOne
) -> None:
    contract, block = await deploy(steered)
    assert block > MAX_REORG_DEPTH
    assert await find_deployment_block(l1, contract) == block - MAX_REORG_DEPTH


class Pruned(EmbeddedLayerOne):
    """An L1 without old states."""

    async def code(self, address: Address, block: int | None = None) -> bytes:
        if block is not None and block < self._chain.number - 128:
            raise LayerOneRejected("eth_getCode", -32000, "missing trie node")
        return await super().code(address, block)


def test_the_block_is_zero_if_l1_has_no_old_states() -> None:
    with layer_one("embedded") as steered:
        assert isinstance(steered, Embedded)
        steered.l1 = Pruned(steered.chain, steered.sequencer)

        async def play(l1: LayerOne) -> None:
            contract, _ = await deploy(steered)
            assert await find_deployment_block(l1, contract) == 0

        on_l1(steered, play)


class LyingOnce(EmbeddedLayerOne):
    """An L1 that says the contrary about the code at one block, once."""

    lie = 0

    async def code(self, address: Address, block: int | None = None) -> bytes:
        self.lie -= 1
        found = await super().code(address, block)
        return found if self.lie else b"" if found else b"\1"


@pytest.mark.parametrize("lie", range(1, 9))
def test_one_wrong_response_does_not_move_the_block(lie: int) -> None:
    with layer_one("embedded") as steered:
        assert isinstance(steered, Embedded)
        steered.l1 = lying = LyingOnce(steered.chain, steered.sequencer)

        async def play(l1: LayerOne) -> None:
            contract, block = await deploy(steered)
            lying.lie = lie
            with pytest.raises(LayerOneMalformed, match="is not the first one"):
                await find_deployment_block(l1, contract)
            assert await find_deployment_block(l1, contract) == block - MAX_REORG_DEPTH

        on_l1(steered, play)


def test_of_one_false_answer_nothing_is_left_in_what_a_new_directory_records() -> None:
    remote = FalseAnswerRemote(random.Random(1))

    async def play(scenario: Scenario) -> None:
        l1, truth = scenario.l1, scenario.contracts.addresses

        async def found() -> tuple[object, ...]:
            shared = await find_ecosystem(l1, truth.bridgehub)
            return (
                *(await find_contracts(l1, truth.bridgehub, CHAIN_ID), shared),
                await registered_token(l1, NodeConfig(), truth),
            )

        expected = await found()
        scenario.layer_one.mine(2 * MAX_REORG_DEPTH)
        head = await l1.block_number()
        for left in range(80):
            remote.answers.falsify(left)
            with contextlib.suppress(EntresolError):
                assert await found() == expected, remote.answers.told
            remote.answers.falsify(left % 2)
            with contextlib.suppress(EntresolError):
                assert await block_before_now(l1) <= head - MAX_REORG_DEPTH, remote.answers.told
        assert len(remote.answers.counted) > 5

    with closing(remote):
        run_settling(remote, play)
