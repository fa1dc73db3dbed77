"""What `ape test` can do on both layers: the example of the README."""

import ape
import pytest

ETHER = 10**18
NOBODY = "0x00000000000000000000000000000000DeaDBeef"


@pytest.fixture
def token(project, accounts):
    made = accounts[0].deploy(project.Token, "Token", "TOK", 18)
    made.mint(accounts[0], 100, sender=accounts[0])
    return made


def test_a_transfer_is_an_event(token, accounts):
    receipt = token.transfer(accounts[1], 30, sender=accounts[0])
    assert receipt.events == [token.Transfer(accounts[0], accounts[1], 30)]
    assert token.balanceOf(accounts[1]) == 30


def test_nobody_sends_more_than_they_have(token, accounts):
    with ape.reverts(token.InsufficientBalance, balance=100, needed=101):
        token.transfer(accounts[1], 101, sender=accounts[0])


def test_a_deposit_arrives(bridge, l1, accounts):
    bob = accounts[1]
    before = bob.balance
    bridge.deposit(ETHER, to=bob.address)
    assert bob.balance == before + ETHER
    with l1:
        assert accounts[0].balance < 10_000 * ETHER


def test_each_test_starts_with_the_same_chains(l1, accounts):
    assert accounts[1].balance == 10_000 * ETHER
    with l1:
        assert accounts[0].balance == 10_000 * ETHER


def test_a_withdrawal_is_paid_on_layer_1(bridge, l1, accounts):
    bob = accounts[1]
    withdrawal = bridge.withdraw(ETHER, to=bob.address)
    bridge.finalize(withdrawal)
    with l1:
        assert bob.balance == 10_001 * ETHER


def test_a_message_is_proven_to_layer_1(bridge):
    message = bridge.send_message(b"hello, layer 1")
    proof = bridge.prove(message)
    assert bridge.verify(message, proof)
    assert not bridge.verify(message._replace(data=b"something else"), proof)


def test_a_day_later(chain):
    before = chain.pending_timestamp
    chain.mine(3, timestamp=before + 86_400)
    assert chain.blocks.head.number == 3
    assert chain.blocks.head.timestamp >= before + 86_400


def test_somebody_without_a_key_pays(chain, accounts):
    chain.set_balance(NOBODY, ETHER)
    nobody = accounts[NOBODY]
    nobody.transfer(accounts[0], 5)
    assert accounts[0].balance == 10_000 * ETHER + 5


def test_a_transaction_has_a_call_tree(token, accounts):
    receipt = token.transfer(accounts[1], 7, sender=accounts[0])
    tree = receipt.trace.get_calltree()
    assert (tree.address.hex().lower().removeprefix("0x"), tree.failed) == (
        token.address[2:].lower(),
        False,
    )
    assert receipt.trace.return_value is not None


def test_code_and_storage_are_set(token, chain, accounts):
    chain.provider.set_code(NOBODY, chain.provider.get_code(token.address))
    copy = ape.Contract(NOBODY, contract_type=token.contract_type)
    assert copy.balanceOf(accounts[0]) == 0
    chain.provider.set_storage(NOBODY, 1, b"\7")
    assert chain.provider.get_storage(NOBODY, 1)[-1] == 7
