"""Clients, unmodified, on several chains of one L1: one whose gas is paid in ether, and those with a token of their own.

The checks of zksync-ethers, viem and the calls of zksync-js are in the files of `js/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

import pytest
from eth_account import Account
from web3 import Web3
from web3.exceptions import Web3Exception
from zksync2.core.types import TransferTransaction, WithdrawTransaction
from zksync2.core.utils import L2_BASE_TOKEN_ADDRESS

from entresol.contracts import artifact
from entresol.inprocess.bridge import Bridge
from tests.support.clients.ecosystem import (
    CHAINS,
    ETHER_ADDRESS,
    Ecosystem,
    on_each,
    running_ecosystem,
)
from tests.support.clients.javascript import Results
from tests.support.clients.zksync2_user import Zksync2User

pytestmark = [
    pytest.mark.clients,
    # What zksync2 itself uses.
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    # Warnings of web3.py about such logs, which zksync2 does not suppress.
    pytest.mark.filterwarnings("ignore:The log with transaction hash:UserWarning"),
]

FILES: Final = ("ecosystem-zksync-ethers.mjs", "ecosystem-viem.mjs", "ecosystem-zksync-js.mjs")
PAIR: Final = CHAINS[:2]
"""What differs with decimals is tested with web3.py."""


@pytest.fixture(scope="module")
def ecosystem() -> Iterator[Ecosystem]:
    with running_ecosystem() as running:
        yield running


@pytest.fixture(scope="module")
def results(ecosystem: Ecosystem) -> Mapping[str, Results]:
    """Run one file after another: what a deposit costs on L1 depends on how many were made before.

    The clients' estimates leave too little room for those of others that come in between.
    """
    return {file: ecosystem.run_checks(file, PAIR) for file in FILES}


@pytest.mark.parametrize(
    ("file", "check"),
    [(file, check) for file in FILES for check in on_each(file, PAIR)],
)
def test_a_client_in_javascript_works_on_a_chain_beside_others(
    results: Mapping[str, Results], file: str, check: str
) -> None:
    problem = results[file][check]
    assert problem is None, problem


def stranger() -> str:
    """Return an account that nobody uses."""
    return Web3.to_checksum_address(os.urandom(20).hex())


# zksync2


@pytest.fixture(scope="module")
def user(ecosystem: Ecosystem) -> Zksync2User:
    """Return a user of the chain that is paid in a token; test_zksync2.py has one of ether."""
    return Zksync2User(ecosystem.chain(PAIR[1]))


def test_zksync2_deposits_and_withdraws_what_gas_is_paid_in(user: Zksync2User) -> None:
    there = stranger()
    assert user.status(user.deposit(user.base, user.unit, there)) == 1
    assert user.zksync.get_balance(there) == user.unit
    for token in (None, L2_BASE_TOKEN_ADDRESS):
        here = stranger()
        user.claim(user.wallet.withdraw(WithdrawTransaction(token=token, amount=123, to=here)))
        assert user.held(user.base, here) == 123


def test_zksync2_takes_the_checksummed_base_token_for_another(
    user: Zksync2User,
) -> None:
    """It compares texts: whoever withdraws it gives the address in lower case, or none."""
    checksummed = Web3.to_checksum_address(L2_BASE_TOKEN_ADDRESS)
    with pytest.raises(Web3Exception):
        user.wallet.withdraw(WithdrawTransaction(token=checksummed, amount=1, to=stranger()))


def test_zksync2_deposits_transfers_and_withdraws_another_token(user: Zksync2User) -> None:
    there, here = stranger(), stranger()
    assert user.status(user.deposit(user.token, 600, user.account.address)) == 1
    bridged = user.wallet.l2_token_address(user.token)
    assert user.wallet.get_balance(token_address=bridged) == 600
    sent = user.wallet.transfer(TransferTransaction(to=there, amount=50, token_address=bridged))
    assert user.status(sent) == 1
    assert user.zksync.zks_get_balance(there, token_address=bridged) == 50
    user.claim(user.wallet.withdraw(WithdrawTransaction(token=bridged, amount=40, to=here)))
    assert user.held(user.token, here) == 40
    with pytest.raises(Web3Exception):
        user.wallet.withdraw(WithdrawTransaction(token=bridged, amount=10**9, to=here))


# web3.py


@pytest.mark.parametrize("name", CHAINS)
def test_web3_moves_every_kind_of_token(ecosystem: Ecosystem, name: str) -> None:
    chain = ecosystem.chain(name)
    l1, l2 = (Web3(Web3.HTTPProvider(url)) for url in (chain.l1_url, chain.url))
    sender, bridge = Account.from_key(chain.key).address, Bridge(l1, l2)
    compiled = artifact("TestERC20")
    factory = l1.eth.contract(abi=compiled.abi, bytecode=bytes(compiled.bytecode))
    sent = factory.constructor("Coin", "COIN", 6).transact({"from": sender})
    coin = str(l1.eth.wait_for_transaction_receipt(sent)["contractAddress"])
    minted = bridge.l1_token(coin).functions.mint(sender, 1_000).transact({"from": sender})
    assert l1.eth.wait_for_transaction_receipt(minted)["status"] == 1
    for token in (bridge.base_token_on_l1, "ETH", coin):
        here = stranger()
        assert bridge.deposit(50, sender=sender, token=token).l2["status"] == 1
        bridge.finalize(bridge.withdraw(30, sender=sender, to=here, token=token), sender=sender)
        assert held(bridge, token, here) == 30


def held(bridge: Bridge, token: str, owner: str) -> int:
    """Return what an account has on L1."""
    address = Web3.to_checksum_address(owner)
    if token in ("ETH", ETHER_ADDRESS):
        return bridge.l1.eth.get_balance(address)
    return int(bridge.l1_token(token).functions.balanceOf(address).call())
