"""Items of a queue that are sent to L1 one after the other: what one fails with does not concern the next."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

import pytest

from entresol.errors import LayerOneUnreachable
from entresol.features.relay.dispatch import Dispatch
from entresol.features.relay.relay_account import RelayCall, RemoteAccount
from entresol.l1.operator import Operator
from entresol.primitives.values import Address
from entresol.rollup.work_queue import WorkQueue
from tests.support.rollup.layer_ones import ACCOUNTS, REVERTER, Embedded

TARGET = Address(b"\x11" * 20)
SMALL, REVERTS = RelayCall(TARGET, b"\1"), RelayCall(REVERTER, b"\1")
OVERSIZED, EXPENSIVE = RelayCall(TARGET, bytes(200_000)), RelayCall(TARGET, b"\1" * 15_000)
MAX_GAS = 1_000_000


class Sending:
    """Calls that an account on an embedded L1 is to send."""

    def __init__(self) -> None:
        self.steered = Embedded()
        self.queue: WorkQueue[str, RelayCall] = WorkQueue()
        self.account = RemoteAccount(Operator(self.steered.l1, ACCOUNTS[0].secret))
        self.dispatch = Dispatch(self.queue, self.account, MAX_GAS, lambda: 0.0, str)

    def set_balance(self, wei: int) -> None:
        address = self.account.address
        self.steered.chain.edit(address, lambda it: it.set_balance(address, wei))

    async def step(self) -> None:
        await self.dispatch.follow()
        for key, call in self.queue.due(0.0):
            if not self.dispatch.is_full:
                await self.dispatch.attempt(key, partial(_ready, call))

    def run(self, **calls: RelayCall) -> None:
        for key, call in calls.items():
            self.queue.add(key, call, 0.0)

        async def steps() -> None:
            for _ in range(len(calls) + 1):
                await self.step()

        asyncio.run(steps())


async def _ready(call: RelayCall) -> RelayCall:
    return call


@pytest.fixture
def sending() -> Iterator[Sending]:
    """Return calls to send on an L1 of their own."""
    opened = Sending()
    yield opened
    opened.steered.chain.close()


def test_what_l1_does_not_take_belongs_to_its_item(sending: Sending) -> None:
    sending.run(oversized=OVERSIZED, reverts=REVERTS, small=SMALL)
    assert (sending.dispatch.done, sending.queue.failing) == (1, ["oversized", "reverts"])


def test_what_cannot_be_paid_for_holds_up_nothing_that_can_be(sending: Sending) -> None:
    sending.set_balance(100_000 * 2 * sending.steered.chain.head.base_fee_per_gas)
    sending.run(expensive=EXPENSIVE, small=SMALL)
    assert (sending.dispatch.done, sending.queue.failing) == (1, ["expensive"])
    assert sending.account.address.checksummed() in (sending.dispatch.problem or "")
    sending.set_balance(10**18)
    asyncio.run(sending.step())
    asyncio.run(sending.step())
    assert (sending.dispatch.done, sending.dispatch.problem) == (2, None)


def test_an_l1_that_is_unreachable_for_one_item_has_the_next_tried_after_it(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimate = sending.steered.l1.estimate_gas

    async def failing(sender: Address, to: Address, data: bytes, **_: object) -> int:
        if data == EXPENSIVE.data:
            raise LayerOneUnreachable("an L1", "it closed the connection")
        return await estimate(sender, to, data)

    monkeypatch.setattr(sending.steered.l1, "estimate_gas", failing)
    with pytest.raises(LayerOneUnreachable):
        sending.run(expensive=EXPENSIVE, small=SMALL)
    asyncio.run(sending.step())
    asyncio.run(sending.step())
    assert (sending.dispatch.done, sending.queue.failing) == (1, ["expensive"])
