"""Random reads at or below the anchor of a fork, which the remote itself responds to as well."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, TypeAlias

from tests.support.fork.soak.branches import ANCHOR, FIRST_ADDRESS, SLOTS, Branches, words

Read: TypeAlias = tuple[str, list[Any]]

_TRACER: Final = {"tracer": "callTracer"}

PICKS: Final[dict[str, Callable[[Any], Any]]] = {
    # For the block after the last one anvil has the fee of its own next block.
    "eth_feeHistory": lambda it: it | {"baseFeePerGas": it["baseFeePerGas"][:-1]},
    # It is executed here, and anvil subtracts what a transaction costs at the start.
    "debug_traceTransaction": lambda it: {k: v for k, v in it.items() if k != "gas"},
}
"""The part of a result that has to be the remote's, where it is not all of it."""


class PastReads:
    """Makes up reads, most of them of something that was not read before."""

    def __init__(self, chains: Branches, random: Random) -> None:
        self._chains = chains
        self._random = random
        self._kinds = [
            *(self._account, self._slot, self._call, self._probe, self._logs),
            *(self._fees, self._block, self._transaction, self._trace),
        ]

    def next(self) -> Read:
        """Return a method and its parameters."""
        return self._random.choice(self._kinds)()

    def cold_address(self) -> str:
        """Return an account; one of many, most of which nobody has."""
        return f"0x{FIRST_ADDRESS + self._random.randrange(1 << 16):040x}"

    def _number(self) -> int:
        # The anchor has what the fork laid over it.
        return self._random.randrange(1, ANCHOR)

    def _account(self) -> Read:
        method = self._random.choice(["eth_getBalance", "eth_getTransactionCount", "eth_getCode"])
        chains = self._chains
        known = [
            *chains.accounts[:3],
            chains.store,
            chains.probe,
            f"0x{FIRST_ADDRESS + self._number():040x}",
        ]
        address = self._random.choice([*known, self.cold_address(), self.cold_address()])
        return method, [address, hex(self._number())]

    def _slot(self) -> Read:
        slot = self._random.randrange(2 * SLOTS)
        return "eth_getStorageAt", [
            self._chains.store,
            f"0x{slot:064x}",
            hex(max(3, self._number())),
        ]

    def _call(self) -> Read:
        data = words(self._random.randrange(SLOTS), self._random.choice([1, 3, 40, 200]), 0)
        call = {"to": self._chains.store, "data": data}
        return "eth_call", [call, hex(max(3, self._number()))]

    def _probe(self) -> Read:
        number = max(4, self._number())
        other = self._random.randrange(1, number)
        data = words(int(self.cold_address(), 16), other)
        return "eth_call", [{"to": self._chains.probe, "data": data}, hex(number)]

    def _logs(self) -> Read:
        first, last = sorted((self._number(), self._number()))
        wanted = {"fromBlock": hex(first), "toBlock": hex(last), "address": self._chains.store}
        return "eth_getLogs", [wanted]

    def _fees(self) -> Read:
        return "eth_feeHistory", [hex(self._random.randrange(1, 9)), hex(self._number()), [50]]

    def _block(self) -> Read:
        number = hex(self._random.randrange(ANCHOR + 1))
        reads: list[Read] = [
            ("eth_getBlockByNumber", [number, True]),
            ("eth_getBlockByNumber", [number, False]),
            ("eth_getBlockReceipts", [number]),
            ("eth_getBlockTransactionCountByNumber", [number]),
            ("eth_getTransactionByBlockNumberAndIndex", [number, "0x0"]),
        ]
        return self._random.choice(reads)

    def _transaction(self) -> Read:
        method = self._random.choice(["eth_getTransactionByHash", "eth_getTransactionReceipt"])
        return method, [self._random.choice(self._chains.transactions)]

    def _trace(self) -> Read:
        sent = self._random.choice(self._chains.transactions[2:])
        return "debug_traceTransaction", [sent, _TRACER]
