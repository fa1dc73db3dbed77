"""The bridge of forks: real tokens of either remote cross it, as on a pair of the node's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web3 import Web3

from entresol import devnet
from entresol.errors import MethodFailed
from entresol.inprocess.devnet import Devnet
from entresol.inprocess.layer import DevnetLayer
from entresol.primitives import abi
from entresol.primitives.values import Address
from tests.support.fork.remote_anvil import (
    HELD,
    HOLDER,
    L1_CHAIN_ID,
    L2_CHAIN_ID,
    RemotePair,
    remote_pair,
    withdraw_native,
)

ETHER = 10**18


@pytest.fixture(scope="module")
def remotes() -> Iterator[RemotePair]:
    with remote_pair() as found:
        yield found


@pytest.fixture(scope="module")
def pair(remotes: RemotePair) -> Iterator[Devnet]:
    with forked(fork_url=remotes.l2.url, l1_fork_url=remotes.l1.url) as net:
        yield net


def forked(**settings: Any) -> Devnet:
    return devnet(no_storage_caching=True, **settings)


def impersonate(net: Devnet) -> None:
    """Let the nodes sign for the holder of the real tokens, and give it ether for gas."""
    for layer in (net.l1, net.l2):
        layer.request("anvil_impersonateAccount", HOLDER)
        layer.request("anvil_setBalance", HOLDER, hex(100 * ETHER))


def balance(token: Any, owner: str) -> int:
    found: int = token.functions.balanceOf(owner).call()
    return found


def test_a_real_token_of_the_l1_is_deposited_used_and_withdrawn(
    pair: Devnet, remotes: RemotePair
) -> None:
    assert (pair.l1.chain_id, pair.l2.chain_id) == (L1_CHAIN_ID, L2_CHAIN_ID)
    impersonate(pair)
    bridge, token, other = pair.bridge, remotes.l1.token, pair.l2.accounts[1].address
    assert bridge.deposit(1_000, token=token, sender=HOLDER).l2["status"] == 1
    real, arrived = bridge.l1_token(token), bridge.l2_token(token)
    assert (balance(real, HOLDER), balance(arrived, HOLDER)) == (HELD - 1_000, 1_000)
    assert arrived.functions.symbol().call() == "One"
    bridge.receipt_of(bridge.l2, arrived.functions.transfer(other, 300).transact({"from": HOLDER}))
    receipt = bridge.finalize(bridge.withdraw(200, token=token, sender=other))
    assert (receipt["status"], balance(real, other), balance(arrived, other)) == (1, 200, 100)
    # The remote knows nothing of it.
    held = abi.encode_call("balanceOf(address)", Address.parse(other))
    assert int(remotes.l1.node("eth_call", {"to": token, "data": f"0x{held.hex()}"}), 16) == 0


def test_a_real_token_of_the_l2_is_a_token_of_the_l2_for_this_bridge(
    pair: Devnet, remotes: RemotePair
) -> None:
    impersonate(pair)
    bridge, token = pair.bridge, Web3.to_checksum_address(remotes.l2.token)
    assert bridge.finalize(withdraw_native(bridge, token, 500, HOLDER))["status"] == 1
    asset = bridge.l2_vault.functions.assetId(token).call()
    there = bridge.l1_vault.functions.tokenAddress(asset).call()
    assert balance(bridge.l1_token(there), HOLDER) == 500
    assert bridge.deposit(400, token=there, sender=HOLDER).l2["status"] == 1
    assert balance(bridge.l2_erc20(token), HOLDER) == HELD - 100


def test_more_ether_than_was_deposited_is_withdrawn_from_a_copy(remotes: RemotePair) -> None:
    with forked(fork_url=remotes.l2.url) as net:
        assert (net.l1.chain_id, net.l2.chain_id) == (31337, L2_CHAIN_ID)
        impersonate(net)
        whale = 10**9 * ETHER
        net.l2.request("anvil_setBalance", HOLDER, hex(whale + ETHER))
        receipt = net.bridge.finalize(net.bridge.withdraw(whale, sender=HOLDER))
        assert receipt["status"] == 1
        assert int(net.l1.request("eth_getBalance", HOLDER, "latest"), 16) == whale + 100 * ETHER
        assert net.bridge.deposit(ETHER, sender=HOLDER).l2["status"] == 1


def time_of(layer: DevnetLayer) -> int:
    return int(layer.request("eth_getBlockByNumber", "latest", False)["timestamp"], 16)


def anchor_time(layer: DevnetLayer) -> int:
    number = layer.request("anvil_nodeInfo")["forkConfig"]["forkBlockNumber"]
    return int(layer.request("eth_getBlockByNumber", hex(number), False)["timestamp"], 16)


@pytest.fixture
def later_l2() -> Iterator[RemotePair]:
    """Start remotes of which the L2 has two blocks that are later than all of the L1."""
    with remote_pair() as found:
        _, latest = found.l1.latest
        found.l2.node("evm_setNextBlockTimestamp", hex(latest + 1_000))
        found.l2.node("anvil_mine", "0x2")
        yield found


def test_the_l2_stands_on_its_newest_block_that_is_not_later_than_that_of_the_l1(
    later_l2: RemotePair,
) -> None:
    _, latest = later_l2.l1.latest
    number, _ = later_l2.l2.latest
    with forked(fork_url=later_l2.l2.url, l1_fork_url=later_l2.l1.url) as net:
        assert net.l2.w3.eth.block_number == number - 2
        assert anchor_time(net.l2) < anchor_time(net.l1) == latest
        # The L2 goes on at the time of its L1.
        net.l2.request("anvil_mine", 1)
        assert latest <= time_of(net.l2) < latest + 1_000


def test_the_time_of_the_l1_is_not_before_that_of_an_l2_whose_block_is_given(
    later_l2: RemotePair,
) -> None:
    _, latest = later_l2.l1.latest
    number, _ = later_l2.l2.latest
    with forked(fork_url=f"{later_l2.l2.url}@{number}", l1_fork_url=later_l2.l1.url) as net:
        assert anchor_time(net.l1) == latest
        assert anchor_time(net.l2) >= latest + 1_000
        net.l1.request("anvil_mine", 1)
        assert time_of(net.l1) >= anchor_time(net.l2)
        assert net.bridge.deposit(ETHER).l2["status"] == 1
        assert net.bridge.finalize(net.bridge.withdraw(5))["status"] == 1


def test_a_pair_on_disk_goes_on_without_its_remotes(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"data_dir": tmp_path / "data", "fork_retries": 0}
    with remote_pair() as remotes:
        settings |= {"fork_url": remotes.l2.url, "l1_fork_url": remotes.l1.url}
        with devnet(**settings) as net:
            impersonate(net)
            token = remotes.l1.token
            assert net.bridge.deposit(1_000, token=token, sender=HOLDER).l2["status"] == 1
            sent = net.bridge.withdraw(10, token=token, sender=HOLDER)
            anchors = [layer.request("anvil_nodeInfo")["forkConfig"] for layer in (net.l1, net.l2)]
    with devnet(**settings) as net:
        assert anchors == [
            layer.request("anvil_nodeInfo")["forkConfig"] for layer in (net.l1, net.l2)
        ]
        impersonate(net)
        bridge = net.bridge
        assert bridge.finalize(sent)["status"] == 1
        assert balance(bridge.l1_token(token), HOLDER) == HELD - 990
        assert bridge.deposit(5, token=token, sender=HOLDER).l2["status"] == 1
        assert bridge.finalize(bridge.withdraw(3, token=token, sender=HOLDER))["status"] == 1
        # What nobody has read is named.
        with pytest.raises(MethodFailed, match=r"127\.0\.0\.1"):
            net.l1.request("eth_getBalance", "0x" + "77" * 20, "latest")
