"""Nodes as the remotes of a fork: anvil with some blocks, and a pair of layers with tokens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from web3.logs import DISCARD

from entresol.contracts import artifact
from entresol.inprocess.bridge import Bridge, SentMessage
from entresol.primitives import abi
from entresol.primitives.values import Address
from tests.support.anvil import Anvil, running_anvil
from tests.support.inprocess_node import inprocess_anvil

CHAIN_ID: Final = 99
STRANGER: Final = "0x" + "12" * 20
COUNTER: Final = (
    # Counts in slot 0, and logs and returns the count.
    "0x601780600b6000396000f36000546001018060005560005260206000a060206000f3"
)
ANVIL: Final = (sys.executable, "-m", "entresol", "anvil")
NODE: Final = (sys.executable, "-m", "entresol")


class RemoteAnvil(NamedTuple):
    node: Anvil
    accounts: list[str]
    counter: str
    calls: list[str]
    """The transactions that called the counter, each in a block of its own."""
    number: int
    """The block that forks stand on, with others after it."""

    @property
    def url(self) -> str:
        return self.node.url

    def block(self, number: int | str = "latest") -> dict[str, Any]:
        name = number if isinstance(number, str) else hex(number)
        found: dict[str, Any] = self.node("eth_getBlockByNumber", name, False)
        return found


@contextmanager
def remote_anvil(*, is_real: bool = True) -> Iterator[RemoteAnvil]:
    """Start a remote: a counter that was called three times, a transfer, empty blocks, and later blocks with a call.

    One that is not real is a node in this process.
    """
    flags = ("--chain-id", str(CHAIN_ID))
    with running_anvil(*flags) if is_real else inprocess_anvil("anvil", *flags) as node:
        accounts = node("eth_accounts")
        sender = accounts[0]
        created = node("eth_sendTransaction", {"from": sender, "data": COUNTER})
        counter = node("eth_getTransactionReceipt", created)["contractAddress"]
        call = {"from": sender, "to": counter}
        calls = [node("eth_sendTransaction", call) for _ in range(3)]
        node("eth_sendTransaction", {"from": sender, "to": STRANGER, "value": "0x7"})
        node("anvil_mine", "0x3")
        number = int(node("eth_blockNumber"), 16)
        calls.append(node("eth_sendTransaction", call))
        node("anvil_mine", "0x2")
        yield RemoteAnvil(node, accounts, counter, calls, number)


L1_CHAIN_ID: Final = 1
"""The id of a public network, on which the contracts for development are not."""
L2_CHAIN_ID: Final = 8453
HOLDER: Final = "0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB"
HELD: Final = 10**12
L1_TIME: Final = 1_700_000_000
L2_TIME: Final = L1_TIME - 100


class RemoteToken(NamedTuple):
    node: Anvil
    token: str

    @property
    def url(self) -> str:
        return self.node.url

    @property
    def latest(self) -> tuple[int, int]:
        block = self.node("eth_getBlockByNumber", "latest", False)
        return int(block["number"], 16), int(block["timestamp"], 16)


class RemotePair(NamedTuple):
    """The remotes of both layers; the latest block of the L2 is the earlier one."""

    l1: RemoteToken
    l2: RemoteToken


@contextmanager
def remote_pair() -> Iterator[RemotePair]:
    with (
        inprocess_anvil("anvil", "--chain-id", str(L1_CHAIN_ID), "--timestamp", str(L1_TIME)) as l1,
        inprocess_anvil("anvil", "--chain-id", str(L2_CHAIN_ID), "--timestamp", str(L2_TIME)) as l2,
    ):
        yield RemotePair(_with_token(l1, "One"), _with_token(l2, "Two"))


def _with_token(node: Anvil, symbol: str) -> RemoteToken:
    sender = node("eth_accounts")[0]
    arguments = abi.encode("(string,string,uint8)", (f"Token {symbol}", symbol, 6))
    code = bytes(artifact("TestERC20").bytecode) + arguments
    sent = node("eth_sendTransaction", {"from": sender, "data": f"0x{code.hex()}"})
    token = node("eth_getTransactionReceipt", sent)["contractAddress"]
    mint = abi.encode_call("mint(address,uint256)", Address.parse(HOLDER), HELD)
    node("eth_sendTransaction", {"from": sender, "to": token, "data": f"0x{mint.hex()}"})
    node("anvil_mine", "0x3", "0x2")
    return RemoteToken(node, token)


def withdraw_native(bridge: Bridge, token: str, amount: int, sender: str) -> SentMessage:
    vault, here = bridge.l2_vault, bridge.l2_erc20(token)
    asset = vault.functions.assetId(token).call()
    if not any(asset):
        vault.functions.ensureTokenIsRegistered(token).transact({"from": sender})
        asset = vault.functions.assetId(token).call()
    here.functions.approve(vault.address, amount).transact({"from": sender})
    burn = (amount, Address.parse(sender), Address.parse(token))
    router = bridge.l2_asset_router
    call = router.functions["withdraw(bytes32,bytes)"](
        asset, abi.encode("(uint256,address,address)", burn)
    )
    receipt = bridge.receipt_of(bridge.l2, call.transact({"from": sender}))
    (event,) = bridge.messenger.events.L1MessageSent().process_receipt(receipt, DISCARD)
    return SentMessage(router.address, bytes(event["args"]["message"]), receipt)
