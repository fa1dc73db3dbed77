"""A real anvil as the remote of a fork, with a contract, logs and some blocks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

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
