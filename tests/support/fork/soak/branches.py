"""A chain to fork in two branches, as a reorganisation has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from tests.support.anvil import Anvil, running_anvil
from tests.support.evm.assembler import assemble, initcode

CHAIN_ID: Final = 4_242
SLOTS: Final = 600
"""How many slots of the store are set."""
COMMON: Final = 78
"""Blocks that both branches have; the first ones are final."""
ANCHOR: Final = 90
LATER: Final = 4
"""Blocks after the anchor, which a fork hides."""
FIRST_TIME: Final = 1_700_000_000
FIRST_ADDRESS: Final = 1 << 16
"""Of accounts that blocks send to; those of precompiles are below."""
PRICE: Final = hex(20 * 10**9)
GAS: Final = hex(4_000_000)

STORE: Final = """
    ; start, count, value: returns and logs the sum of so many slots, and sets the first one unless the value is zero
    0 calldataload 0x20 mstore
    0x20 calldataload 0x40 mstore
    loop: 0x40 mload iszero @done jumpi
    0x20 mload sload 0 mload add 0 mstore
    0x20 mload 1 add 0x20 mstore
    1 0x40 mload sub 0x40 mstore
    @loop jump
    done: 0x40 calldataload iszero @end jumpi
    0x40 calldataload 0 calldataload sstore
    end: 0 calldataload 0x20 0 log1
    0x20 0 return
"""
FILL: Final = f"""
    {SLOTS} 0 mstore
    fill: 0 mload dup1 3 mul 1 add swap1 sstore
    1 0 mload sub dup1 0 mstore @fill jumpi
"""
PROBE: Final = """
    ; address, number: returns balance, size of the code and hash of a block
    0 calldataload balance 0 mstore
    0 calldataload extcodesize 0x20 mstore
    0x20 calldataload blockhash 0x40 mstore
    0x60 0 return
"""


class Branches(NamedTuple):
    """The remote as it was when the fork began, and the same after a reorganisation."""

    remote: Anvil
    other: Anvil
    accounts: list[str]
    store: str
    probe: str
    transactions: list[str]
    """Blocks of the remote up to the anchor."""


def words(*values: int) -> str:
    """Return calldata."""
    return "0x" + "".join(f"{value:064x}" for value in values)


@contextmanager
def branches() -> Iterator[Branches]:
    """Start both chains."""
    flags = ("--chain-id", str(CHAIN_ID), "--timestamp", str(FIRST_TIME))
    with running_anvil(*flags) as remote, running_anvil(*flags) as other:
        first, second = _History(remote, 0), _History(other, 1)
        for history in (first, second):
            history.build(COMMON, ANCHOR)
        sent = list(first.sent)
        for history in (first, second):
            history.grow(ANCHOR + LATER)
        assert _hash(remote, COMMON) == _hash(other, COMMON)
        assert _hash(remote, COMMON + 1) != _hash(other, COMMON + 1)
        yield Branches(remote, other, first.accounts, first.store, first.probe, sent)


class _History:
    """Builds the blocks of a chain, the same ones each time; after a number, by turn."""

    def __init__(self, node: Anvil, turn: int) -> None:
        self._node = node
        self._turn = turn
        self.accounts: list[str] = node("eth_accounts")
        self.sent: list[str] = []
        self.store = ""
        self.probe = ""

    def build(self, common: int, anchor: int) -> None:
        """Deploy contracts, and mine up to the anchor."""
        store = initcode(assemble(STORE), FILL)
        self.store = self._send(data="0x" + store.hex(), gas=hex(16_000_000))["contractAddress"]
        self.probe = self._send(data="0x" + initcode(assemble(PROBE)).hex())["contractAddress"]
        self.grow(common)
        if self._turn:
            self._send(to=self.store, data=words(7, 1, 777_777))
        self.grow(anchor)

    def grow(self, number: int) -> None:
        """Mine up to a block: calls, transfers, and empty blocks."""
        while (at := int(self._node("eth_blockNumber"), 16)) < number:
            if at % 3 == 0:
                self._node("evm_setNextBlockTimestamp", FIRST_TIME + 12 * (at + 1))
                self._node("anvil_mine", "0x1")
            elif at % 3 == 1:
                self._send(to=self.store, data=words(at, 3, at + self._turn * (at > COMMON)))
            else:
                self._send(to=f"0x{FIRST_ADDRESS + at:040x}", value=hex(at))

    def _send(self, **fields: str) -> dict[str, Any]:
        number = int(self._node("eth_blockNumber"), 16) + 1
        self._node("evm_setNextBlockTimestamp", FIRST_TIME + 12 * number)
        sender = self.accounts[number % 3]
        given = {"from": sender, "gas": GAS, "gasPrice": PRICE}
        sent: str = self._node("eth_sendTransaction", given | fields)
        self.sent.append(sent)
        receipt = self._node.receipt(sent)
        assert receipt["status"] == "0x1"
        return receipt


def _hash(node: Anvil, number: int) -> str:
    found: str = node("eth_getBlockByNumber", hex(number), False)["hash"]
    return found
