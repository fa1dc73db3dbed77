"""`net.relay()`: everything that is open between the chains of a devnet."""

from __future__ import annotations

from entresol import Devnet
from entresol.inprocess.interop.bundle import BundleStatus

ETHER = 10**18


def test_bundles_are_executed_and_withdrawals_finalized(net: Devnet) -> None:
    bob = net.accounts[1].address
    before = net.l1.w3.eth.get_balance(bob)
    there = net.bridge.send(ETHER, chain=net.l2s[1], to=bob)
    back = net.bridges[1].send(ETHER, chain=net.l2s[2], to=bob)
    net.bridges[1].withdraw(ETHER, to=bob)
    done = net.relay()
    assert [it.hash for it in done.executed] == [there.hash, back.hash]
    assert {there.status, back.status} == {BundleStatus.EXECUTED}
    assert (len(done.finalized), done.skipped) == (1, [])
    assert net.l1.w3.eth.get_balance(bob) == before + ETHER
    again = net.relay()
    assert (again.executed, again.finalized, again.skipped) == ([], [], [])


def test_what_cannot_be_executed_is_returned_with_its_reason(net: Devnet) -> None:
    bob = net.accounts[1].address
    net.bridge.send(chain=net.l2s[1], to=bob, data=b"hello")
    done = net.relay()
    assert [it.reason for it in done.skipped] == [f"NoCodeAtTarget({bob})"]


def test_a_bundle_with_an_executor_is_left_to_that(net: Devnet) -> None:
    bundle = net.bridge.send(1, chain=net.l2s[1], executor=net.accounts[1].address)
    assert net.relay().executed == []
    assert bundle.status is BundleStatus.UNRECEIVED
