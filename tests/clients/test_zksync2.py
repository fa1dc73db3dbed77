"""zksync2, the ZK Stack's client for Python, unmodified: money and messages between both layers.

Left out is `claim_failed_deposit`: zksync2 2.0 only simulates it, by a form of the call that the network's
contracts no longer have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
from eth_account import Account
from eth_typing import HexStr
from hexbytes import HexBytes
from web3 import Web3
from web3.exceptions import Web3Exception
from zksync2.account.wallet import Wallet
from zksync2.core.types import (
    DepositTransaction,
    PaymasterParams,
    TransferTransaction,
    WithdrawTransaction,
)
from zksync2.manage_contracts.paymaster_utils import PaymasterFlowEncoder
from zksync2.module.module_builder import ZkSyncBuilder

from entresol.contracts import artifact
from tests.support.clients.accounts import ALICE, CHAIN_ID, NOBODY
from tests.support.rollup.pair import Pair, running_pair

pytestmark = [
    pytest.mark.clients,
    # What zksync2 itself uses.
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    # Warnings of web3.py about such logs, which zksync2 does not suppress.
    pytest.mark.filterwarnings("ignore:The log with transaction hash:UserWarning"),
]

ETHER: Final = 10**18
ETH: Final = "0x0000000000000000000000000000000000000000"


class User(NamedTuple):
    """A wallet, and the clients of both layers that it uses."""

    wallet: Any
    zksync: Any
    l1: Any
    pair: Pair

    def deposit(self, **fields: Any) -> str:
        """Deposit, wait until it arrived, and return its hash on L2."""
        return self.arrived(self.wallet.deposit(DepositTransaction(**fields)))

    def arrived(self, sent: Any) -> str:
        """Wait for a transaction of L1 and for the one that it sent to L2, and return the hash of that."""
        receipt = self.l1.eth.wait_for_transaction_receipt(sent)
        assert receipt["status"] == 1
        found = self.zksync.get_l2_transaction_from_priority_op(receipt, self.wallet.main_contract)
        name = str(found["hash"].to_0x_hex())
        assert self.zksync.wait_for_transaction_receipt(name)["status"] == 1
        return name

    def send_l1(self, call: Any) -> Any:
        """Call a contract on L1 by a transaction of Alice's, and return its receipt."""
        fields = {"from": ALICE.address, "nonce": self.l1.eth.get_transaction_count(ALICE.address)}
        signed = ALICE.sign_transaction(call.build_transaction(fields))
        sent = self.l1.eth.send_raw_transaction(signed.raw_transaction)
        receipt = self.l1.eth.wait_for_transaction_receipt(sent)
        assert receipt["status"] == 1
        return receipt

    def finalized(self, sent: Any) -> Any:
        """Wait until the batch of a transaction of L2 is executed on L1, and return the receipt."""
        receipt = self.zksync.wait_finalized(sent)
        assert receipt["status"] == 1
        return receipt

    def finalize(self, withdrawal: Any) -> None:
        """Have L1 release a withdrawal."""
        sent = self.wallet.finalize_withdrawal(withdrawal)
        assert self.l1.eth.wait_for_transaction_receipt(sent)["status"] == 1


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with running_pair() as running:
        yield running


@pytest.fixture(scope="module")
def user(pair: Pair) -> User:
    return user_of(pair, ALICE.key)


def user_of(pair: Pair, key: bytes) -> User:
    # A wallet changes the client that it is given.
    web3, l1 = ZkSyncBuilder.build(pair.l2.url), Web3(Web3.HTTPProvider(pair.l1.url))
    return User(Wallet(web3, l1, Account.from_key(key)), web3.zksync, l1, pair)


@pytest.fixture(scope="module")
def token(user: User) -> str:
    """Return a token on L1 of which Alice has some."""
    compiled = artifact("TestERC20")
    factory = user.l1.eth.contract(abi=compiled.abi, bytecode=bytes(compiled.bytecode))
    creation = user.send_l1(factory.constructor("Coin", "COIN", 6))
    coin = user.l1.eth.contract(creation["contractAddress"], abi=compiled.abi)
    user.send_l1(coin.functions.mint(ALICE.address, 1_000))
    return str(coin.address)


@pytest.fixture(scope="module")
def deposited(user: User, token: str) -> str:
    """Deposit 600 coins, and return the hash on L2."""
    return user.deposit(
        token=token,
        amount=600,
        to=ALICE.address,
        approve_erc20=True,
        refund_recipient=ALICE.address,
    )


def test_the_wallet_finds_the_contracts(user: User) -> None:
    pair, wallet = user.pair, user.wallet
    assert wallet.main_contract.address == pair.chain.address.checksummed()
    assert wallet.get_bridgehub_contract().address == pair.bridgehub.address.checksummed()
    router = wallet.get_l1_bridge_contracts().shared
    assert router.address == pair.asset_router.address.checksummed()
    assert user.zksync.is_eth_based_chain()
    assert user.zksync.zks_l1_chain_id() == user.l1.eth.chain_id


def test_a_deposit_of_ether_arrives(user: User) -> None:
    before = user.zksync.get_balance(NOBODY)
    held = user.wallet.get_l1_balance()
    user.deposit(token=ETH, amount=ETHER, to=NOBODY, refund_recipient=ALICE.address)
    assert user.zksync.get_balance(NOBODY) - before == ETHER
    assert user.wallet.get_l1_balance() < held - ETHER


def test_a_deposit_is_confirmed_to_l1(user: User) -> None:
    sent = user.deposit(token=ETH, amount=1, refund_recipient=ALICE.address)
    user.finalized(sent)
    batch, place, number, proof = user.wallet.get_priority_op_confirmation(sent)
    arguments = (CHAIN_ID, HexBytes(sent), int(batch, 16), place, int(number, 16))
    words = [HexBytes(word) for word in proof]
    pair, function = user.pair, "proveL1ToL2TransactionStatus"
    assert pair.call_l1(pair.bridgehub, function, *arguments, words, 1)


def test_a_deposit_of_tokens_arrives_as_tokens(user: User, token: str, deposited: str) -> None:
    assert user.zksync.wait_for_transaction_receipt(deposited)["status"] == 1
    there = user.wallet.l2_token_address(token)
    assert user.wallet.get_balance(token_address=there) == 600
    assert user.wallet.get_l1_balance(token=token) == 400
    assert user.wallet.l1_token_address(there) == token


def test_ether_is_transferred_by_type_0x71(user: User) -> None:
    before = user.zksync.get_balance(NOBODY)
    sent = user.wallet.transfer(TransferTransaction(to=NOBODY, amount=9))
    receipt = user.zksync.wait_for_transaction_receipt(sent)
    assert (receipt["status"], receipt["type"]) == (1, 0x71)
    assert user.zksync.get_balance(NOBODY) - before == 9


def test_tokens_are_transferred(user: User, token: str, deposited: str) -> None:
    there = user.wallet.l2_token_address(token)
    sent = user.wallet.transfer(TransferTransaction(to=NOBODY, amount=50, token_address=there))
    assert user.zksync.wait_for_transaction_receipt(sent)["status"] == 1
    assert user.zksync.zks_get_balance(NOBODY, token_address=there) == 50
    assert user.zksync.eth_get_transaction_receipt(deposited).to is not None


def test_ether_is_withdrawn_once(user: User) -> None:
    sent = user.wallet.withdraw(WithdrawTransaction(token=ETH, amount=ETHER, to=NOBODY))
    user.finalized(sent)
    assert not user.wallet.is_withdrawal_finalized(sent)
    before = user.l1.eth.get_balance(NOBODY)
    user.finalize(sent)
    assert user.wallet.is_withdrawal_finalized(sent)
    assert user.l1.eth.get_balance(NOBODY) - before == ETHER
    with pytest.raises(Web3Exception):
        user.wallet.finalize_withdrawal(sent)


def test_tokens_are_withdrawn(user: User, token: str, deposited: str) -> None:
    assert user.zksync.wait_for_transaction_receipt(deposited)["status"] == 1
    there = user.wallet.l2_token_address(token)
    sent = user.wallet.withdraw(WithdrawTransaction(token=there, amount=40))
    user.finalized(sent)
    before = user.wallet.get_l1_balance(token=token)
    user.finalize(sent)
    assert user.wallet.is_withdrawal_finalized(sent)
    assert user.wallet.get_l1_balance(token=token) - before == 40


def test_the_testnet_paymaster_pays_for_a_transfer(user: User) -> None:
    paymaster = HexStr(user.zksync.zks_get_testnet_paymaster_address())
    free = bytes.fromhex(PaymasterFlowEncoder(user.l1).encode_general(b"").removeprefix("0x"))
    params = PaymasterParams(paymaster=paymaster, paymaster_input=free)
    before = user.zksync.get_balance(ALICE.address)
    transfer = TransferTransaction(to=HexStr(NOBODY), amount=9, paymaster_params=params)
    receipt = user.zksync.wait_for_transaction_receipt(user.wallet.transfer(transfer))
    assert receipt["status"] == 1
    assert user.zksync.get_balance(ALICE.address) == before - 9
