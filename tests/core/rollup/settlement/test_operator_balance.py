"""The operator's balance is followed, and a low one is reported once."""

from __future__ import annotations

import asyncio
import logging

import pytest

from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.operator import ALL_STEPS, OperatorKey
from entresol.node.config.schema import ETHER
from entresol.primitives.batches import SettlementStep
from entresol.primitives.values import Address
from entresol.rollup.settlement.operator_balance import OperatorBalance
from tests.support.rollup.layer_ones import ACCOUNTS, Embedded, layer_one

OPERATOR = ACCOUNTS[0]


class Spending(EmbeddedLayerOne):
    """An L1 on which the operator has what a test sets."""

    wei = 0

    async def balance(self, address: Address) -> int:
        assert address == OPERATOR.address
        return self.wei


@pytest.mark.parametrize(
    ("steps", "name"),
    [(ALL_STEPS, "the operator"), ((SettlementStep.PROVE,), "the operator that proves")],
)
def test_a_low_balance_is_reported_once_and_until_it_is_higher(
    caplog: pytest.LogCaptureFixture, steps: tuple[SettlementStep, ...], name: str
) -> None:
    caplog.set_level(logging.INFO, "entresol.rollup")

    async def play(l1: Spending) -> None:
        key = OperatorKey(OPERATOR.secret, steps)
        balance = OperatorBalance(l1, key, ETHER // 2)
        assert balance.problem is None
        for wei in (ETHER, ETHER // 3, ETHER // 4, ETHER // 2):
            l1.wei = wei
            await balance.step()
            assert balance.wei == wei
            assert (balance.problem is None) is (wei >= ETHER // 2)

    with layer_one("embedded") as steered:
        assert isinstance(steered, Embedded)
        asyncio.run(play(Spending(steered.chain, steered.sequencer)))
    low, higher = caplog.messages
    assert low.startswith(
        f"{name}, {OPERATOR.address.checksummed()}, has less than 0.5 ether on L1"
    )
    assert "--operator-low-balance" in low
    assert higher == f"{name} has 0.5 ether on L1"
