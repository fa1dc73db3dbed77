"""zksync2, unmodified, on a pair of forks: a real token of the forked L1 goes to the copy of the L2 and back."""

from __future__ import annotations

from typing import Any

import pytest
from eth_account import Account
from web3 import Web3
from zksync2.account.wallet import Wallet
from zksync2.core.types import DepositTransaction, TransferTransaction, WithdrawTransaction
from zksync2.module.module_builder import ZkSyncBuilder

from entresol import devnet
from entresol.primitives import abi
from entresol.primitives.values import Address
from tests.support.clients.accounts import ALICE, NOBODY
from tests.support.fork.remote_anvil import HOLDER, remote_pair

pytestmark = [
    pytest.mark.clients,
    # What zksync2 itself uses.
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    # Warnings of web3.py about such logs, which zksync2 does not suppress.
    pytest.mark.filterwarnings("ignore:The log with transaction hash:UserWarning"),
]


def test_a_wallet_moves_a_real_token_between_two_copies() -> None:
    with (
        remote_pair() as remotes,
        devnet(fork_url=remotes.l2.url, l1_fork_url=remotes.l1.url, no_storage_caching=True) as net,
    ):
        token = Web3.to_checksum_address(remotes.l1.token)
        transfer = abi.encode_call("transfer(address,uint256)", Address.parse(ALICE.address), 1_000)
        net.l1.request("anvil_impersonateAccount", HOLDER)
        net.l1.request("anvil_setBalance", HOLDER, hex(10**18))
        sent = {"from": HOLDER, "to": token, "data": f"0x{transfer.hex()}"}
        net.l1.request("eth_sendTransaction", sent)

        web3: Any = ZkSyncBuilder.build(net.l2.url)
        l1 = Web3(Web3.HTTPProvider(net.l1.url))
        wallet: Any = Wallet(web3, l1, Account.from_key(ALICE.key))
        deposit = wallet.deposit(
            DepositTransaction(
                token=token,
                amount=600,
                to=ALICE.address,
                approve_erc20=True,
                refund_recipient=ALICE.address,
            )
        )
        receipt = l1.eth.wait_for_transaction_receipt(deposit)
        found = web3.zksync.get_l2_transaction_from_priority_op(receipt, wallet.main_contract)
        assert web3.zksync.wait_for_transaction_receipt(found["hash"])["status"] == 1
        there = wallet.l2_token_address(token)
        moved = wallet.transfer(TransferTransaction(to=NOBODY, amount=50, token_address=there))
        assert web3.zksync.wait_for_transaction_receipt(moved)["status"] == 1
        withdrawal = wallet.withdraw(WithdrawTransaction(token=there, amount=200))
        web3.zksync.wait_finalized(withdrawal)
        paid = l1.eth.wait_for_transaction_receipt(wallet.finalize_withdrawal(withdrawal))
        assert paid["status"] == 1
        assert wallet.get_l1_balance(token=token) == 600
        assert wallet.get_balance(token_address=there) == 350
