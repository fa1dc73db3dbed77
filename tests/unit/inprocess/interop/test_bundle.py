"""Bundles on their way: waited for, executed, verified and cancelled on their destination."""

from __future__ import annotations

import pytest

from entresol import Devnet
from entresol.errors import BundleNotReady, BundleReverted
from entresol.inprocess.interop.bundle import BundleStage, BundleStatus, CallStatus
from tests.support.ecosystem.bundles import REVERTS, deployed_token, put

ETHER = 10**18


def test_value_arrives_once(net: Devnet) -> None:
    bob, there = net.accounts[1].address, net.l2s[1].w3
    before = there.eth.get_balance(bob)
    bundle = net.bridge.send(ETHER, chain=net.l2s[1], to=bob)
    bundle.execute(net.accounts[2].address)
    assert there.eth.get_balance(bob) == before + ETHER
    assert (bundle.status, bundle.call_statuses) == (BundleStatus.EXECUTED, (CallStatus.EXECUTED,))
    with pytest.raises(BundleReverted, match=r"BundleAlreadyProcessed\(0x"):
        bundle.execute()


def test_a_token_arrives_and_returns(net: Devnet) -> None:
    token, bob = deployed_token(net.l2.w3), net.accounts[1].address
    here, there = net.bridges[:2]
    here.send(30, chain=there, to=bob, token=token.address).execute()
    asset = here.l2_vault.functions.assetId(token.address).call()
    bridged = there.l2_erc20(there.l2_vault.functions.tokenAddress(asset).call())
    assert bridged.functions.balanceOf(bob).call() == 30
    there.send(10, chain=here, sender=bob, token=bridged.address).execute()
    assert token.functions.balanceOf(bob).call() == 10
    assert bridged.functions.totalSupply().call() == 20


def test_a_call_that_fails_is_cancelled_and_the_others_executed(net: Devnet) -> None:
    bob, there = net.accounts[1].address, net.l2s[1].w3
    before = there.eth.get_balance(bob)
    made = net.bridge.bundle(there).value(ETHER, to=bob)
    bundle = made.call(put(there, REVERTS), b"hello").send()
    with pytest.raises(BundleReverted):
        bundle.execute()
    bundle.verify()
    assert bundle.status == BundleStatus.VERIFIED.value
    bundle.unbundle([CallStatus.EXECUTED, CallStatus.CANCELLED])
    assert bundle.status == BundleStatus.UNBUNDLED.value
    assert bundle.call_statuses == (CallStatus.EXECUTED, CallStatus.CANCELLED)
    assert there.eth.get_balance(bob) == before + ETHER


def test_only_the_executor_executes_and_only_the_unbundler_cancels(net: Devnet) -> None:
    bob, carol = (account.address for account in net.accounts[1:3])
    bundle = net.bridge.send(1, chain=net.l2s[1], executor=bob, unbundler=carol)
    with pytest.raises(BundleReverted, match=r"ExecutingNotAllowed\("):
        bundle.execute()
    bundle.verify()
    with pytest.raises(BundleReverted, match=r"UnbundlingNotAllowed\("):
        bundle.unbundle([CallStatus.CANCELLED])
    bundle.unbundle([CallStatus.CANCELLED], carol)
    assert bundle.call_statuses == (CallStatus.CANCELLED,)


def test_each_stage_is_named(net: Devnet) -> None:
    bundle = net.bridge.send(1, chain=net.l2s[1])
    stages = [bundle.stage]
    net.bridge.settle(bundle.receipt["blockNumber"])
    stages.append(bundle.stage)
    stages.append(bundle.wait().stage)
    assert stages == [BundleStage.SENT, BundleStage.EXECUTED_ON_L1, BundleStage.ARRIVED]


def test_a_bundle_that_does_not_arrive_in_time_says_where_it_is(net: Devnet) -> None:
    net.l2s[1].request("evm_setAutomine", False)
    bundle = net.bridge.send(1, chain=net.l2s[1])
    with pytest.raises(BundleNotReady) as raised:
        bundle.wait(timeout=0.2)
    assert raised.value.stage == BundleStage.SETTLED.value


def test_value_that_l1_does_not_know_of_is_not_covered(net: Devnet) -> None:
    bob, rich = net.accounts[1].address, 10**30
    net.l2.request("anvil_setBalance", bob, hex(2 * rich))
    bundle = net.bridge.send(rich, chain=net.l2s[1], sender=bob)
    with pytest.raises(BundleNotReady, match=r"InteropValueNotCovered\(") as raised:
        bundle.wait()
    assert raised.value.stage == BundleStage.NOT_COVERED.value
