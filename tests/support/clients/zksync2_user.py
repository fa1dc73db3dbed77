"""A user of zksync2, unmodified, on one of several chains: a wallet, and what it waits for."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from eth_account import Account
from web3 import Web3
from zksync2.account.wallet import Wallet
from zksync2.core.types import DepositTransaction
from zksync2.module.module_builder import ZkSyncBuilder

from entresol.contracts import artifact
from tests.support.clients.ecosystem import ClientChain

ETH: Final = "0x0000000000000000000000000000000000000000"


class Zksync2User:
    """A wallet on a chain, with an account that no other test uses. Remembers: a token that it has deployed."""

    def __init__(self, chain: ClientChain) -> None:
        # A wallet changes the client that it is given.
        web3 = ZkSyncBuilder.build(chain.url)
        self.chain = chain
        self.account = Account.from_key(chain.key)
        self.l1 = Web3(Web3.HTTPProvider(chain.l1_url))
        self.wallet: Any = Wallet(web3, self.l1, self.account)
        self.zksync: Any = web3.zksync
        token = chain.known["base_token"]
        self.base: str = ETH if token is None else token["l1_address"]
        self.unit = 10**18 if token is None else int(10 ** token["decimals"])

    @cached_property
    def token(self) -> str:
        """A token on L1 of which the account has some."""
        compiled = artifact("TestERC20")
        factory = self.l1.eth.contract(abi=compiled.abi, bytecode=bytes(compiled.bytecode))
        address = self.send_l1(factory.constructor("Coin", "COIN", 6))["contractAddress"]
        coin = self.l1.eth.contract(address, abi=compiled.abi)
        self.send_l1(coin.functions.mint(self.account.address, 1_000_000))
        return str(address)

    def deposit(self, token: str, amount: int, to: str, **fields: Any) -> str:
        """Deposit, with all approvals, wait until it has arrived, and return its hash on L2."""
        approved = {"approve_erc20": token != ETH, "approve_base_erc20": True}
        asked = {"token": token, "amount": amount, "to": to, **approved, **fields}
        sent = self.wallet.deposit(
            DepositTransaction(refund_recipient=self.account.address, **asked)
        )
        receipt = self.l1.eth.wait_for_transaction_receipt(sent)
        assert receipt["status"] == 1
        found = self.zksync.get_l2_transaction_from_priority_op(receipt, self.wallet.main_contract)
        return str(found["hash"].to_0x_hex())

    def status(self, transaction: str) -> int:
        """Return the status of a transaction on L2, once it has one."""
        return int(self.zksync.wait_for_transaction_receipt(transaction)["status"])

    def claim(self, withdrawal: Any) -> None:
        """Have L1 pay a withdrawal, once its batch is executed."""
        assert self.zksync.wait_finalized(withdrawal)["status"] == 1
        assert not self.wallet.is_withdrawal_finalized(withdrawal)
        sent = self.wallet.finalize_withdrawal(withdrawal)
        assert self.l1.eth.wait_for_transaction_receipt(sent)["status"] == 1
        assert self.wallet.is_withdrawal_finalized(withdrawal)

    def held(self, token: str, owner: str) -> int:
        """Return what an account has on L1."""
        if token == ETH:
            return int(self.l1.eth.get_balance(Web3.to_checksum_address(owner)))
        contract = self.l1.eth.contract(
            Web3.to_checksum_address(token), abi=artifact("TestERC20").abi
        )
        return int(contract.functions.balanceOf(owner).call())

    def send_l1(self, call: Any) -> Any:
        """Call a contract on L1, and return the receipt."""
        sender = self.account.address
        fields = {"from": sender, "nonce": self.l1.eth.get_transaction_count(sender)}
        signed = self.account.sign_transaction(call.build_transaction(fields))
        sent = self.l1.eth.send_raw_transaction(signed.raw_transaction)
        receipt = self.l1.eth.wait_for_transaction_receipt(sent)
        assert receipt["status"] == 1
        return receipt
