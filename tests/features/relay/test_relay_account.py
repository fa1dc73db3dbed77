"""The account of the relay on a remote L1: what it sends, what it pays for, and whose nonces it has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from entresol.errors import RelayRejected
from entresol.features.relay.relay_account import DROPPED, RelayCall, RemoteAccount
from entresol.l1.fee_limits import FeeLimits
from entresol.l1.operator import Operator
from entresol.l1.tx_manager import REPLACE_SECONDS
from entresol.primitives.values import Address
from tests.support.known import known
from tests.support.rollup.layer_ones import ACCOUNTS, ECHO, REVERTER, Embedded

TARGET = Address(b"\x11" * 20)
CALL = RelayCall(TARGET, b"\1")
GAS = 22_000


class Payer:
    """The account on an embedded L1, and the same key used elsewhere."""

    def __init__(self) -> None:
        self.steered = Embedded()
        self.now = 0.0
        self.elsewhere = Operator(self.steered.l1, ACCOUNTS[0].secret, FeeLimits(multiplier=9.0))
        operator = Operator(self.steered.l1, ACCOUNTS[0].secret)
        self.account = RemoteAccount(operator, clock=lambda: self.now)

    def set_balance(self, wei: int) -> None:
        address = self.account.address
        self.steered.chain.edit(address, lambda it: it.set_balance(address, wei))


@pytest.fixture
def payer() -> Iterator[Payer]:
    """Return the account on an L1 of its own."""
    opened = Payer()
    yield opened
    opened.steered.chain.close()


async def test_what_was_sent_has_an_outcome_with_its_gas(payer: Payer) -> None:
    sent = known(await payer.account.submit(CALL, GAS))
    assert payer.account.is_busy
    outcome = known(await payer.account.outcome(sent))
    assert (outcome.succeeded, payer.account.is_busy) == (True, False)
    assert 21_000 < outcome.gas_used <= GAS


async def test_a_transaction_whose_nonce_was_used_elsewhere_is_dropped(payer: Payer) -> None:
    payer.steered.mine_on_request()
    sent = known(await payer.account.submit(CALL, GAS))
    payer.steered.drop(sent)
    await payer.elsewhere.send(await payer.elsewhere.sign_call(TARGET, b"\2"))
    assert await payer.account.outcome(sent) is None
    payer.steered.mine()
    assert await payer.account.outcome(sent) == DROPPED
    again = await payer.account.submit(CALL, GAS)
    payer.steered.mine()
    assert again is not None
    assert (await payer.account.outcome(again) or DROPPED).succeeded


async def test_a_transaction_that_l1_has_dropped_is_sent_again_if_its_fee_may_not_be_higher(
    payer: Payer,
) -> None:
    payer.steered.mine_on_request()
    sent = known(await payer.account.submit(CALL, GAS))
    payer.steered.drop(sent)
    payer.now += REPLACE_SECONDS
    fee = payer.steered.chain.head.base_fee_per_gas
    payer.account._operator.limits = FeeLimits(max_fee=fee)
    assert await payer.account.outcome(sent) is None
    payer.steered.mine()
    assert (await payer.account.outcome(sent) or DROPPED).succeeded


async def test_two_chains_that_send_at_once_do_not_use_one_nonce(payer: Payer) -> None:
    calls = (payer.account.submit(RelayCall(TARGET, bytes([number])), GAS) for number in (1, 2))
    first, second = await asyncio.gather(*calls)
    assert (first is None) != (second is None)


def test_what_needs_more_gas_than_it_may_is_rejected_before_it_is_paid_for(payer: Payer) -> None:
    payer.set_balance(GAS * 10**8)
    with pytest.raises(RelayRejected, match=r"it needs 2\d,\d+ gas, and may use 21,001"):
        asyncio.run(payer.account.submit(RelayCall(ECHO, b"\1"), 21_001))


async def test_what_needs_as_much_gas_as_it_may_is_sent(payer: Payer) -> None:
    needed = await payer.steered.l1.estimate_gas(payer.account.address, TARGET, b"\1")
    assert await payer.account.submit(CALL, needed) is not None


@pytest.mark.parametrize("call", [RelayCall(REVERTER, b"\1"), RelayCall(TARGET, bytes(200_000))])
async def test_what_l1_rejects_leaves_the_nonce_to_the_next(payer: Payer, call: RelayCall) -> None:
    with pytest.raises(Exception, match=r"oversized data|revert"):
        await payer.account.submit(call, 5_000_000)
    assert not payer.account.is_busy
    assert await payer.account.submit(CALL, GAS) is not None
