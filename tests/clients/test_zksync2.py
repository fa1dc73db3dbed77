"""zksync2, the ZK Stack's client for Python, unmodified: money and messages between both layers.

Left out is `claim_failed_deposit`: zksync2 2.0 only simulates it, by a form of the call that the network's
contracts no longer have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
from eth_account import Account
from hexbytes import HexBytes
from web3 import Web3
from web3.exceptions import Web3Exception
from zksync2.account.wallet import Wallet
from zksync2.core.types import (
    DepositTransaction,
    RequestExecuteCallMsg,
    TransactionOptions,
    TransferTransaction,
    WithdrawTransaction,
)
from zksync2.module.module_builder import ZkSyncBuilder
from zksync2.module.request_types import EIP712Meta

from entresol.contracts import artifact
from tests.support.anvil import running_anvil
from tests.support.clients.accounts import ALICE, BOB, CHAIN_ID, NOBODY
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.rollup.pair import USER, Pair, message_hash, running_pair

pytestmark = [
    pytest.mark.clients,
    # What zksync2 itself uses.
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    # Warnings of web3.py about such logs, which zksync2 does not suppress.
    pytest.mark.filterwarnings("ignore:The log with transaction hash:UserWarning"),
]

ETHER: Final = 10**18
ETH: Final = "0x0000000000000000000000000000000000000000"
OPERATOR_KEY: Final = "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
VERIFIED: Final = "verified"


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


@pytest.fixture(scope="module", params=["embedded", pytest.param("anvil", marks=pytest.mark.peer)])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with contextlib.ExitStack() as cleanup:
        arguments: list[str] = []
        if request.param == "anvil":
            anvil = cleanup.enter_context(running_anvil())
            arguments = ["--l1-url", anvil.url, "--deploy-l1", "--operator-key", OPERATOR_KEY]
            arguments += DEVELOPMENT_FLAGS
            arguments += ["--l1-confirmations", "0"]
        yield cleanup.enter_context(running_pair(*arguments))


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


def test_a_wallet_knows_its_balances_on_both_layers(pair: Pair) -> None:
    bob = user_of(pair, BOB.key)
    assert bob.wallet.get_balance() == bob.wallet.get_l1_balance() == 10_000 * ETHER


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


def test_a_call_is_requested_from_l1(user: User) -> None:
    before = user.zksync.get_balance(NOBODY)
    request = RequestExecuteCallMsg(
        contract_address=NOBODY, call_data="0x", l2_value=7, l2_gas_limit=900_000
    )
    user.arrived(user.wallet.request_execute(request))
    assert user.zksync.get_balance(NOBODY) - before == 7


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


def test_a_fee_is_estimated(user: User) -> None:
    fee = user.zksync.zks_estimate_fee(
        {
            "from": ALICE.address,
            "to": BOB.address,
            "value": 1,
            "eip712Meta": EIP712Meta(gas_per_pub_data=50_000),
        }
    )
    assert fee.gas_limit >= 21_000
    assert fee.max_fee_per_gas == user.zksync.gas_price
    assert 0 < fee.gas_per_pubdata_limit <= 50_000


def test_gas_from_l1_is_estimated(user: User) -> None:
    request = {"from": ALICE.address, "to": BOB.address, "value": 1, "data": "0x"}
    assert user.zksync.zks_estimate_gas_l1_to_l2(request) > 21_000


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


def test_a_message_is_proven_by_either_method(user: User) -> None:
    pair, message = user.pair, b"from Python"
    said = pair.finalized(pair.send_message(message))
    block = int(said["blockNumber"], 16)
    by_message = user.zksync.zks_get_l2_to_l1_msg_proof(
        block, USER.checksummed(), message_hash(message), None
    )
    by_log = user.zksync.zks_get_log_proof(said["transactionHash"])
    assert by_message == by_log
    batch = int(said["l1BatchNumber"], 16)
    proof = {"id": by_log.id, "proof": by_log.proof, "batchNumber": batch}
    assert pair.is_included(proof, said, USER, message)


def test_details_have_the_settlement_of_a_transaction(user: User) -> None:
    sent = user.deposit(token=ETH, amount=1, refund_recipient=ALICE.address)
    receipt = user.finalized(sent)
    of_it = user.zksync.zks_get_transaction_details(sent)
    assert (of_it.status, of_it.isL1Originated) == (VERIFIED, True)
    of_block = user.zksync.zks_get_block_details(receipt["blockNumber"])
    assert of_block.status == VERIFIED
    assert HexBytes(of_block.root_hash) == receipt["blockHash"]
    number = int(receipt["l1BatchNumber"], 16)
    of_batch = user.zksync.zks_get_l1_batch_details(number)
    assert (of_batch.number, of_batch.status) == (number, VERIFIED)
    assert of_batch.execute_tx_hash == of_it.ethExecuteTxHash == of_block.execute_tx_hash
    assert of_batch.committed_at <= of_batch.proven_at <= of_batch.executed_at
    assert user.l1.eth.get_transaction_receipt(of_batch.execute_tx_hash)["status"] == 1


def test_batches_have_blocks(user: User) -> None:
    last = user.zksync.zks_l1_batch_number()
    first, end = (int(number, 16) for number in user.zksync.zks_get_l1_batch_block_range(last))
    assert 0 < first <= end <= user.zksync.block_number


def test_fees_have_their_parameters(user: User) -> None:
    assert user.zksync.zks_get_fee_params()["V2"]["config"]["minimal_l2_gas_price"] > 0


def test_ether_is_listed_and_tokens_that_came_from_l1_are_counted(
    user: User, token: str, deposited: str
) -> None:
    assert user.zksync.wait_for_transaction_receipt(deposited)["status"] == 1
    there = user.wallet.l2_token_address(token)
    (listed,) = user.zksync.zks_get_confirmed_tokens()
    assert (listed["l2Address"], listed["symbol"], listed["decimals"]) == (ETH, "ETH", 18)
    balances = {name.lower(): it for name, it in user.wallet.get_all_balances().items()}
    assert balances[there.lower()] == user.wallet.get_balance(token_address=there)
    assert balances[ETH] == user.wallet.get_balance()


def test_the_protocol_has_a_version(user: User) -> None:
    found = user.zksync.zks_get_protocol_version()
    on_l1 = user.pair.call_l1(user.pair.chain, "getSemverProtocolVersion")
    assert found["minorVersion"] == on_l1[1]


def test_a_transaction_is_sent_with_all_that_it_does(user: User) -> None:
    messenger = user.pair.messenger
    signed = ALICE.sign_transaction(
        {
            "chainId": CHAIN_ID,
            "nonce": user.zksync.get_transaction_count(ALICE.address),
            "to": Web3.to_checksum_address(messenger.address),
            "data": messenger.encode("sendToL1", b"detailed"),
            "gas": 200_000,
            "maxFeePerGas": 10**9,
            "maxPriorityFeePerGas": 0,
        }
    )
    output = user.zksync.zks_send_raw_transaction_with_detailed_output(
        Web3.to_hex(signed.raw_transaction)
    )
    assert output["transactionHash"] == signed.hash.to_0x_hex()
    (event,) = output["events"]
    assert event["address"].lower() == str(messenger.address)


def test_a_nonce_may_be_given(user: User) -> None:
    options = TransactionOptions(nonce=user.zksync.get_transaction_count(ALICE.address))
    sent = user.wallet.transfer(TransferTransaction(to=NOBODY, amount=1, options=options))
    assert user.zksync.wait_for_transaction_receipt(sent)["status"] == 1
