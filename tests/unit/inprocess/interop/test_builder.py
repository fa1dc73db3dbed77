"""Bundles that are sent from one L2 of a devnet to another."""

from __future__ import annotations

import pytest

from entresol import Devnet
from entresol.errors import BridgeFailed, BundleReverted
from entresol.primitives.base_token import L2_ASSET_ROUTER
from tests.support.ecosystem.bundles import deployed_token

ETHER = 10**18


def test_value_costs_its_amount_the_fee_and_gas(net: Devnet) -> None:
    bob, w3 = net.accounts[1].address, net.l2.w3
    before = w3.eth.get_balance(bob)
    bundle = net.bridge.send(ETHER, chain=net.l2s[1], sender=bob)
    gas = bundle.receipt["gasUsed"] * bundle.receipt["effectiveGasPrice"]
    fee = net.bridge.interop_center.functions.interopProtocolFee().call()
    assert before - w3.eth.get_balance(bob) == ETHER + fee + gas
    (call,) = bundle.bundle.calls
    assert (call.to.checksummed(), call.value, call.data) == (bob, ETHER, b"")


def test_a_token_of_the_chain_is_registered_approved_and_locked(net: Devnet) -> None:
    token, bob = deployed_token(net.l2.w3), net.accounts[1].address
    bundle = net.bridge.send(30, chain=net.l2s[1], to=bob, token=token.address)
    vault = net.bridge.l2_vault.address
    assert token.functions.balanceOf(vault).call() == 30
    assert token.functions.allowance(net.accounts[0].address, vault).call() == 0
    assert [call.to for call in bundle.bundle.calls] == [L2_ASSET_ROUTER]


def test_several_parts_are_one_bundle(net: Devnet) -> None:
    token, bob = deployed_token(net.l2.w3), net.accounts[1].address
    made = net.bridge.bundle(net.l2s[1]).value(5, to=bob).token(token.address, 30, to=bob)
    bundle = made.call(bob, token.functions.transfer(bob, 1), value=7).send()
    calls = bundle.bundle.calls
    assert [call.value for call in calls] == [5, 0, 7]
    assert calls[2].data == bytes.fromhex(token.encode_abi("transfer", [bob, 1])[2:])


def test_what_the_center_rejects_is_named_with_its_arguments(net: Devnet) -> None:
    with pytest.raises(BundleReverted) as raised:
        net.bridge.send(1, chain=net.l2s[0])
    assert raised.value.reason == "DestinationChainNotRegistered(270)"
    with pytest.raises(BundleReverted, match=r"EmptyBundle\(\)"):
        net.bridge.bundle(net.l2s[1]).send()


def test_a_call_needs_a_contract(net: Devnet) -> None:
    with pytest.raises(BridgeFailed, match="no contract"):
        net.bridge.send(chain=net.l2s[1], data=b"hello")
