"""Clients, unmodified, on several chains of one L1: one whose gas is paid in ether, and those with a token of their own.

The checks of zksync-ethers, viem and the calls of zksync-js are in the files of `js/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pytest
from eth_account import Account
from web3 import Web3
from web3.exceptions import Web3Exception
from zksync2.account.wallet import Wallet
from zksync2.core.types import DepositTransaction, WithdrawTransaction
from zksync2.core.utils import L2_BASE_TOKEN_ADDRESS
from zksync2.module.module_builder import ZkSyncBuilder

from entresol.contracts import artifact
from entresol.inprocess.bridge import Bridge
from tests.support.clients.javascript import Results
from tests.support.clients.layers import (
    CHAINS,
    ETHER_ADDRESS,
    Ecosystem,
    on_each,
    running_ecosystem,
)
from tests.support.run.examples import tries_many

pytestmark = [
    pytest.mark.clients,
    # What zksync2 itself uses.
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    # Warnings of web3.py about such logs, which zksync2 does not suppress.
    pytest.mark.filterwarnings("ignore:The log with transaction hash:UserWarning"),
]

OTHERS: Final = ("ecosystem-viem.mjs", "ecosystem-zksync-js.mjs")
FILES: Final = ("ecosystem-zksync-ethers.mjs", *(OTHERS if tries_many() else ()))
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


class Zksync2(NamedTuple):
    """A wallet on the chain that is paid in a token, and the clients of both layers; test_zksync2.py has one of ether."""

    wallet: Any
    zksync: Any
    l1: Web3
    base: str


@pytest.fixture(scope="module")
def user(ecosystem: Ecosystem) -> Zksync2:
    chain = ecosystem.chain(PAIR[1])
    # A wallet changes the client that it is given.
    web3, l1 = ZkSyncBuilder.build(chain.url), Web3(Web3.HTTPProvider(chain.l1_url))
    wallet = Wallet(web3, l1, Account.from_key(chain.key))
    return Zksync2(wallet, web3.zksync, l1, chain.known["base_token"]["l1_address"])


def test_zksync2_deposits_and_withdraws_what_gas_is_paid_in(user: Zksync2) -> None:
    there, here, wallet = stranger(), stranger(), user.wallet
    approved = {"approve_erc20": True, "approve_base_erc20": True}
    deposit = DepositTransaction(
        token=user.base, amount=10**18, to=there, refund_recipient=wallet.address, **approved
    )
    receipt = user.l1.eth.wait_for_transaction_receipt(wallet.deposit(deposit))
    found = user.zksync.get_l2_transaction_from_priority_op(receipt, wallet.main_contract)
    assert user.zksync.wait_for_transaction_receipt(found["hash"])["status"] == 1
    assert user.zksync.get_balance(there) == 10**18
    withdrawal = wallet.withdraw(WithdrawTransaction(token=None, amount=123, to=here))
    user.zksync.wait_finalized(withdrawal)
    user.l1.eth.wait_for_transaction_receipt(wallet.finalize_withdrawal(withdrawal))
    token = user.l1.eth.contract(Web3.to_checksum_address(user.base), abi=artifact("TestERC20").abi)
    assert token.functions.balanceOf(here).call() == 123


def test_zksync2_takes_the_checksummed_base_token_for_another(user: Zksync2) -> None:
    """It compares texts: whoever withdraws it gives the address in lower case, or none."""
    checksummed = Web3.to_checksum_address(L2_BASE_TOKEN_ADDRESS)
    with pytest.raises(Web3Exception):
        user.wallet.withdraw(WithdrawTransaction(token=checksummed, amount=1, to=stranger()))


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
