"""Paymasters and smart accounts with zksync2: balances as its own tests expect them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final, NamedTuple

import pytest
from eth_account import Account
from eth_typing import HexStr
from web3 import Web3
from zksync2.account.smart_account import ECDSASmartAccount, MultisigECDSASmartAccount, SmartAccount
from zksync2.account.smart_account_utils import populate_transaction_ecdsa
from zksync2.account.wallet import Wallet
from zksync2.core.types import (
    AccountAbstractionVersion,
    PaymasterParams,
    TransferTransaction,
    WithdrawTransaction,
)
from zksync2.core.utils import LEGACY_ETH_ADDRESS
from zksync2.manage_contracts.paymaster_utils import PaymasterFlowEncoder
from zksync2.module.module_builder import ZkSyncBuilder
from zksync2.signer.eth_signer import PrivateKeyEthSigner
from zksync2.transaction.transaction_builders import TxFunctionCall

from tests.support.clients.accounts import ALICE, BOB, CHAIN_ID, ETHER, send_next
from tests.support.contracts.accounts import TOKEN
from tests.support.contracts.layer_two import artifact_for_tests, calldata, encode
from tests.support.inprocess_node import InprocessNode
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rpc_client import HttpRpcClient

pytestmark = [
    pytest.mark.clients,
    # Of the library, in Python and in web3.py.
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
]

AMOUNT: Final = 7_000_000_000
KEYS: Final = [HexStr(account.key.hex()) for account in (ALICE, BOB)]
DEPLOYER: Final = Web3.to_checksum_address("0x" + "8006".rjust(40, "0"))
FORTY_TWO: Final = bytes.fromhex("600a600c600039600a6000f3602a60005260206000f3")
"""Init code of a contract that returns 42."""

Send = Callable[[], Any]


class Flow(NamedTuple):
    """A paymaster, what it needs, and how many tokens it takes."""

    params: PaymasterParams
    price: int


class World(NamedTuple):
    """A client, a token, accounts and paymasters."""

    web3: Any
    client: HttpRpcClient
    token: str
    senders: dict[str, Any]
    flows: dict[str, Flow]

    def tokens(self, holder: str) -> int:
        """Return how many tokens an account has."""
        data = "0x" + calldata("balanceOf(address)", holder).hex()
        return int(self.client("eth_call", {"to": self.token, "data": data}, "latest"), 16)

    def ether(self, holder: str) -> int:
        """Return how much ether an account has."""
        return int(self.client("eth_getBalance", holder, "latest"), 16)

    def moves(self, sender: Any, flow: Flow, send: Send, *, ether: int = 0, tokens: int = 0) -> Any:
        """Send, and check that nothing but what was sent and the price of the paymaster has moved."""
        address, paymaster = address_of(sender), flow.params.paymaster
        before = (self.ether(address), self.tokens(address), self.tokens(paymaster))
        funds = self.ether(paymaster)
        receipt = self.web3.zksync.wait_for_transaction_receipt(
            send(), timeout=PATIENCE_SECONDS, poll_latency=0.05
        )
        assert (receipt["status"], receipt["type"]) == (1, 0x71)
        after = (self.ether(address), self.tokens(address), self.tokens(paymaster))
        price = flow.price
        assert after == (before[0] - ether, before[1] - tokens - price, before[2] + price)
        assert self.ether(paymaster) < funds
        return receipt

    def send_call(self, sender: Any, flow: Flow, to: str, data: bytes) -> Any:
        """Send a call with a paymaster, as the documentation of the library does it."""
        call = TxFunctionCall(
            chain_id=CHAIN_ID,
            nonce=self.web3.zksync.get_transaction_count(address_of(sender), "pending"),
            from_=address_of(sender),
            to=to,
            data=HexStr("0x" + data.hex()),
            gas_limit=0,
            gas_price=self.web3.zksync.gas_price,
            max_priority_fee_per_gas=0,
            paymaster_params=flow.params,
        )
        # What populates a transaction reads the price here, where its calls do not have it.
        call.tx["maxFeePerGas"] = 0
        if isinstance(sender, SmartAccount):
            return sender.send_transaction(call)
        populated = populate_transaction_ecdsa(call, ALICE.address, KEYS[0], self.web3)
        signer = PrivateKeyEthSigner(ALICE, CHAIN_ID)
        signature = signer.sign_typed_data(populated.to_eip712_struct())
        return self.web3.zksync.send_raw_transaction(populated.encode(signature))


def address_of(sender: Any) -> str:
    """Return the address of a wallet or a smart account."""
    found = sender.get_address if isinstance(sender, SmartAccount) else sender.address
    return str(Web3.to_checksum_address(found))


def new_address() -> str:
    """Return an address that nobody has used."""
    return str(Account.create().address)


@pytest.fixture(scope="module")
def world(node: InprocessNode) -> Iterator[World]:
    with closing(HttpRpcClient(node.url)) as client:
        yield build(client, ZkSyncBuilder.build(node.url))


def build(client: HttpRpcClient, web3: Any) -> World:
    """Deploy the contracts, and give tokens to all senders."""
    token = deploy(client, TOKEN.bytecode + encode("(string,string,uint8)", "Crown", "CRWN", 18))
    paymaster = deploy_example(client, "TokenPaymaster", encode("(address)", token))
    single = deploy_example(client, "SessionAccount", encode("(address)", ALICE.address))
    owners = encode("(address[],uint256)", [ALICE.address, BOB.address], 2)
    multisig = deploy_example(client, "MultisigAccount", owners)
    for holder in (ALICE.address, single, multisig):
        send_next(client, to=token, data=calldata("mint(address,uint256)", holder, 1_000))
    testnet = HexStr(web3.zksync.zks_get_testnet_paymaster_address())
    encoder = PaymasterFlowEncoder(web3)
    offer = bytes.fromhex(encoder.encode_approval_based(HexStr(token), 1, b"").removeprefix("0x"))
    free = bytes.fromhex(encoder.encode_general(b"").removeprefix("0x"))
    return World(
        web3,
        client,
        token,
        {
            "wallet": Wallet(web3, web3, ALICE),
            "single signature": ECDSASmartAccount.create(HexStr(single), KEYS[0], web3),
            "multisig": MultisigECDSASmartAccount.create(HexStr(multisig), KEYS, web3),
        },
        {
            "general": Flow(PaymasterParams(paymaster=testnet, paymaster_input=free), 0),
            "approval": Flow(
                PaymasterParams(paymaster=HexStr(paymaster), paymaster_input=offer), 1
            ),
        },
    )


def deploy(client: HttpRpcClient, code: bytes) -> str:
    """Deploy a contract by plain bytecode."""
    return str(Web3.to_checksum_address(send_next(client, data=code, to="")["contractAddress"]))


def deploy_example(client: HttpRpcClient, name: str, arguments: bytes) -> str:
    """Deploy an example, and give it ether."""
    address = deploy(client, artifact_for_tests(name).bytecode + arguments)
    send_next(client, to=address, value=ETHER)
    return address


SENDERS: Final = (("wallet", "general"), ("single signature", "approval"), ("multisig", "general"))
each_sender = pytest.mark.parametrize(("kind", "flow"), SENDERS)
each_flow = pytest.mark.parametrize("flow", ["general", "approval"])


@each_sender
def test_ether_is_transferred(world: World, kind: str, flow: str) -> None:
    sender, chosen, to = world.senders[kind], world.flows[flow], new_address()
    transfer = TransferTransaction(to=HexStr(to), amount=AMOUNT, paymaster_params=chosen.params)
    world.moves(sender, chosen, lambda: sender.transfer(transfer), ether=AMOUNT)
    assert world.ether(to) == AMOUNT


@each_sender
def test_tokens_are_transferred(world: World, kind: str, flow: str) -> None:
    sender, chosen, to = world.senders[kind], world.flows[flow], new_address()
    transfer = TransferTransaction(
        to=HexStr(to),
        amount=5,
        token_address=HexStr(world.token),
        paymaster_params=chosen.params,
    )
    world.moves(sender, chosen, lambda: sender.transfer(transfer), tokens=5)
    assert world.tokens(to) == 5


@pytest.mark.parametrize(("kind", "flow"), [("wallet", "approval"), ("multisig", "general")])
def test_ether_is_withdrawn(world: World, kind: str, flow: str) -> None:
    """Not from an account with one signature: for that the library takes the first letter of its key."""
    sender, chosen = world.senders[kind], world.flows[flow]
    withdrawal = WithdrawTransaction(
        token=LEGACY_ETH_ADDRESS,
        amount=AMOUNT,
        to=HexStr(new_address()),
        paymaster_params=chosen.params,
    )
    receipt = world.moves(sender, chosen, lambda: sender.withdraw(withdrawal), ether=AMOUNT)
    assert len(receipt["l2ToL1Logs"]) == 1


@each_sender
def test_a_contract_is_deployed(world: World, kind: str, flow: str) -> None:
    sender, chosen = world.senders[kind], world.flows[flow]
    data = calldata("createEVM(bytes)", FORTY_TWO)
    receipt = world.moves(sender, chosen, lambda: world.send_call(sender, chosen, DEPLOYER, data))
    (event,) = (log for log in receipt["logs"] if log["address"] == DEPLOYER)
    deployed = Web3.to_hex(event["topics"][3][-20:])
    assert int(world.client("eth_call", {"to": deployed}, "latest"), 16) == 42


@each_sender
def test_a_contract_is_called(world: World, kind: str, flow: str) -> None:
    sender, chosen = world.senders[kind], world.flows[flow]
    data = calldata("mint(address,uint256)", address_of(sender), 3)
    world.moves(
        sender, chosen, lambda: world.send_call(sender, chosen, world.token, data), tokens=-3
    )


@each_flow
def test_a_sender_without_ether_has_an_estimate(world: World, flow: str) -> None:
    poor, params = new_address(), world.flows[flow].params
    send_next(world.client, to=world.token, data=calldata("mint(address,uint256)", poor, 1))
    call = TxFunctionCall(
        chain_id=CHAIN_ID, nonce=0, from_=poor, to=ALICE.address, paymaster_params=params
    )
    gas = world.web3.zksync.eth_estimate_gas(call.tx)
    fee = world.web3.zksync.zks_estimate_fee(call.tx712(0).to_zk_transaction())
    assert fee.gas_limit == gas > 121_000


def test_an_account_that_pays_for_itself_is_populated(world: World) -> None:
    for kind in ("single signature", "multisig"):
        sender = world.senders[kind]
        nonce = world.web3.zksync.get_transaction_count(address_of(sender))
        transfer = TransferTransaction(to=HexStr(new_address()), amount=1)
        call = world.web3.zksync.get_transfer_transaction(transfer, address_of(sender))
        populated = sender.populate_transaction(call)
        assert (populated.nonce, populated.gas_limit > 60_000) == (nonce, True)
        sent = sender.send_transaction(call)
        receipt = world.web3.zksync.wait_for_transaction_receipt(
            sent, timeout=PATIENCE_SECONDS, poll_latency=0.05
        )
        assert receipt["status"] == 1


def test_a_signature_of_another_kind_is_the_accounts_matter(world: World) -> None:
    signed: list[bytes] = []

    def sign(payload: bytes, secret: str, _provider: Any) -> bytes:
        signed.append(payload)
        signer = PrivateKeyEthSigner(Account.from_key(secret), CHAIN_ID)
        return bytes(signer.sign_message(payload).signature)

    single = address_of(world.senders["single signature"])
    custom = SmartAccount(HexStr(single), KEYS[0], world.web3, populate_transaction_ecdsa, sign)
    flow, to = world.flows["general"], new_address()
    transfer = TransferTransaction(to=HexStr(to), amount=AMOUNT, paymaster_params=flow.params)
    world.moves(custom, flow, lambda: custom.transfer(transfer), ether=AMOUNT)
    assert len(signed) == 1


def test_a_wrong_signature_is_rejected(world: World) -> None:
    multisig = address_of(world.senders["multisig"])
    forged = MultisigECDSASmartAccount.create(HexStr(multisig), [KEYS[0]] * 2, world.web3)
    with pytest.raises(Exception, match="Account validation returned invalid magic value"):
        forged.transfer(TransferTransaction(to=HexStr(ALICE.address), amount=1))


def test_a_contract_says_what_kind_of_account_it_is(world: World) -> None:
    info = world.web3.zksync.get_contract_account_info(address_of(world.senders["multisig"]))
    assert info.account_abstraction_version == AccountAbstractionVersion.VERSION_1.value
