"""Deposits, messages and withdrawals between the layers of a devnet."""

from __future__ import annotations

import pytest
from web3.exceptions import ContractCustomError

from entresol import Devnet, devnet
from entresol.contracts.abi_registry import project_abis
from entresol.errors import BridgeFailed

ETHER = 10**18
WAS_PAID = "WithdrawalAlreadyFinalized()"


def test_a_deposit_arrives(net: Devnet) -> None:
    bob = net.accounts[1].address
    before = net.l2.w3.eth.get_balance(bob)
    done = net.bridge.deposit(ETHER, to=bob)
    assert (done.l1["status"], done.l2["status"]) == (1, 1)
    assert net.l2.w3.eth.get_balance(bob) == before + ETHER


def test_a_message_is_proven(net: Devnet) -> None:
    message = net.bridge.send_message(b"hello", sender=net.accounts[3].address)
    proof = net.bridge.prove(message)
    assert message.sender == net.accounts[3].address
    assert net.bridge.verify(message, proof)
    assert not net.bridge.verify(message._replace(data=b"something else"), proof)
    assert not net.bridge.verify(message._replace(sender=net.accounts[0].address), proof)


def test_a_withdrawal_is_paid_once(net: Devnet) -> None:
    bob = net.accounts[1].address
    before = net.l1.w3.eth.get_balance(bob)
    withdrawal = net.bridge.withdraw(ETHER, to=bob)
    assert net.bridge.finalize(withdrawal)["status"] == 1
    assert net.l1.w3.eth.get_balance(bob) == before + ETHER
    with pytest.raises(ContractCustomError) as raised:
        net.bridge.finalize(withdrawal)
    assert project_abis().error(bytes.fromhex(str(raised.value.data)[2:])) == WAS_PAID


def test_everything_so_far_is_settled(net: Devnet) -> None:
    for _ in range(3):
        net.bridge.send_message(b"hello")
        net.bridge.settle(1)
    net.bridge.settle()
    assert net.l2.w3.eth.get_block("finalized")["number"] == 3
    net.bridge.settle()


def test_a_block_that_never_comes_is_not_awaited(net: Devnet) -> None:
    with pytest.raises(BridgeFailed, match="has no block 7"):
        net.bridge.settle(7)


@pytest.mark.slow
def test_a_devnet_that_settles_by_itself_is_awaited() -> None:
    with devnet(settle_interval=0.02) as net:
        bob = net.accounts[1].address
        net.bridge.finalize(net.bridge.withdraw(ETHER, to=bob))
        assert net.l1.w3.eth.get_balance(bob) == 10_001 * ETHER
