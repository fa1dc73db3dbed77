"""Forks of another Entresol, and of such a fork: what its contracts have deployed keeps its addresses in the copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol import devnet
from entresol.contracts import artifact
from entresol.inprocess.devnet import Devnet
from tests.support.fork.remote_anvil import withdraw_native

HELD = 10**9


def create_token(net: Devnet, layer: Any, symbol: str) -> str:
    """Deploy a token that the first account has."""
    found = artifact("TestERC20")
    sender = layer.accounts[0].address
    contract = layer.w3.eth.contract(abi=found.abi, bytecode=bytes(found.bytecode))
    sent = contract.constructor(f"Token {symbol}", symbol, 6).transact({"from": sender})
    address = net.bridge.receipt_of(layer.w3, sent)["contractAddress"]
    assert address is not None
    token = layer.w3.eth.contract(address=address, abi=found.abi)
    net.bridge.receipt_of(layer.w3, token.functions.mint(sender, HELD).transact({"from": sender}))
    return address


def balance(token: Any, owner: str) -> int:
    found: int = token.functions.balanceOf(owner).call()
    return found


class Remote:
    """An Entresol on which tokens of both layers have crossed the bridge."""

    def __init__(self, net: Devnet) -> None:
        self.net = net
        self.l1_token = create_token(net, net.l1, "One")
        self.l2_token = create_token(net, net.l2, "Two")
        self.arrived = bridge_both(net, self.l1_token, self.l2_token)


def bridge_both(net: Devnet, l1_token: str, l2_token: str) -> tuple[str, str]:
    """Deposit a token of the L1, withdraw some of it and one of the L2; return where each is on the other layer."""
    bridge, account = net.bridge, net.l1.accounts[0].address
    before = balance(bridge.l1_token(l1_token), account)
    assert bridge.deposit(1_000, token=l1_token).l2["status"] == 1
    assert balance(bridge.l2_token(l1_token), account) == 1_000
    assert bridge.finalize(bridge.withdraw(400, token=l1_token))["status"] == 1
    assert balance(bridge.l1_token(l1_token), account) == before - 600
    assert bridge.finalize(withdraw_native(bridge, l2_token, 500, account))["status"] == 1
    asset = bridge.l2_vault.functions.assetId(l2_token).call()
    there: str = bridge.l1_vault.functions.tokenAddress(asset).call()
    assert balance(bridge.l1_token(there), account) == 500
    assert bridge.deposit(200, token=there).l2["status"] == 1
    return bridge.l2_token(l1_token).address, there


@pytest.fixture(scope="module")
def remote() -> Iterator[Remote]:
    with devnet() as net:
        yield Remote(net)


def forked(remote: Devnet) -> Devnet:
    return devnet(fork_url=remote.l2.url, l1_fork_url=remote.l1.url, no_storage_caching=True)


def test_tokens_that_crossed_the_bridge_of_the_remote_cross_that_of_the_copy(
    remote: Remote,
) -> None:
    with forked(remote.net) as net:
        arrived = bridge_both(net, remote.l1_token, remote.l2_token)
        assert set(arrived).isdisjoint(remote.arrived)
        # What the bridge of the remote minted is a token like others, and stays where it is.
        account = net.l2.accounts[0].address
        minted = net.bridge.l2_erc20(remote.arrived[0])
        assert balance(minted, account) == 600
        with forked(net) as next_one:
            again = bridge_both(next_one, remote.l1_token, remote.l2_token)
            assert set(again).isdisjoint((*arrived, *remote.arrived))


def test_a_copy_of_the_l2_alone_takes_the_token_of_its_own_l1_at_the_same_address(
    remote: Remote,
) -> None:
    with devnet(fork_url=remote.net.l2.url, no_storage_caching=True) as net:
        token = create_token(net, net.l1, "One")
        assert token == remote.l1_token
        bridge_both(net, token, remote.l2_token)
