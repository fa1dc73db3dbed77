"""Sends blocks of transactions to anvil, runs them here, and compares what came of each."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from entresol._native import (
    Account,
    BlockEnv,
    ExecutionResult,
    Overlay,
    Rules,
    Snapshot,
    execute,
    keccak256,
)
from tests.support.anvil import Anvil, running_anvil
from tests.support.differential.transactions import CHAIN_ID, Draft, Signed
from tests.support.differential.world import SENDER, found
from tests.support.evm.in_memory_state import InMemoryState
from tests.support.hex_data import hexed, unhex

RULES = Rules(CHAIN_ID, "osaka")
FIRST_TIMESTAMP = 1_800_000_000
HISTORY = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")


@dataclass(frozen=True)
class Mined:
    """A block that both sides made: the state before it, and the result of each transaction here."""

    transactions: Sequence[Signed]
    block: dict[str, Any]
    start: Snapshot
    results: Sequence[ExecutionResult]

    @property
    def env(self) -> BlockEnv:
        numbers = ("number", "timestamp", "gasLimit", "baseFeePerGas", "difficulty")
        number, timestamp, gas_limit, base_fee, difficulty = (
            int(self.block[name], 16) for name in numbers
        )
        return BlockEnv(
            number=number,
            timestamp=timestamp,
            gas_limit=gas_limit,
            base_fee=base_fee,
            difficulty=difficulty,
            beneficiary=unhex(self.block["miner"]),
            prevrandao=unhex(self.block["mixHash"]),
        )

    def begin(self) -> Overlay:
        """Return the state before the first transaction, with what anvil writes before it."""
        overlay = Overlay(self.start)
        slot = (int(self.block["number"], 16) - 1).to_bytes(32)
        overlay.set_slot(HISTORY, slot, unhex(self.block["parentHash"]))
        return overlay


class Peers:
    """Anvil and our own engine, in the same state."""

    def __init__(self, anvil: Anvil) -> None:
        self.anvil = anvil
        self.mined: list[Mined] = []
        self._state = _read_state(anvil)
        self._nonce = 0

    def mine(self, drafts: dict[str, Draft]) -> None:
        """Put transactions in a block on both sides, and compare what came of each."""
        transactions = []
        for kind, draft in drafts.items():
            transactions.append(Signed(kind, draft, SENDER, self._nonce, _type_of(draft)))
            self._nonce += 1
        for signed in transactions:
            assert self.anvil("eth_sendRawTransaction", hexed(signed.raw)) == hexed(signed.hash)
        self.anvil("evm_setNextBlockTimestamp", FIRST_TIMESTAMP + 12 * len(self.mined))
        self.anvil("evm_mine")
        block = self.anvil("eth_getBlockByNumber", "latest", False)
        assert block["transactions"] == [hexed(signed.hash) for signed in transactions]
        results: list[ExecutionResult] = []
        mined = Mined(transactions, block, Snapshot(self._state), results)
        overlay = mined.begin()
        for signed in transactions:
            results.append(execute(overlay, RULES, mined.env, signed.message))
            overlay.apply(results[-1])
        for signed, result, receipt in zip(
            transactions, results, self.anvil("eth_getBlockReceipts", "latest"), strict=True
        ):
            succeeded = result.status == "success"
            told = int(receipt["status"], 16), int(receipt["gasUsed"], 16)
            assert told == (succeeded, result.gas_used), signed.kind
        before = self._state
        self._state = InMemoryState(dict(before.accounts), dict(before.codes), dict(before.slots))
        self._state.write(overlay.changes())
        self.mined.append(mined)


@contextmanager
def peers(*arguments: str) -> Iterator[Peers]:
    """Start anvil with the accounts and contracts on it, and our engine from the same state."""
    options = ["--no-mining", "--order", "fifo", "--hardfork", "osaka", "--timestamp", "1700000000"]
    with running_anvil(*options, "--enable-tx-gas-limit", *arguments) as anvil:
        found(anvil)
        yield Peers(anvil)


def _type_of(draft: Draft) -> int:
    if draft.type is not None:
        return draft.type
    return 4 if draft.authorizations else 2


def _read_state(anvil: Anvil) -> InMemoryState:
    dump = json.loads(gzip.decompress(unhex(anvil("anvil_dumpState"))))
    state = InMemoryState(codes={keccak256(b""): b""})
    for text, account in dump["accounts"].items():
        address, code = unhex(text), unhex(account["code"])
        read = Account(account["nonce"], int(account["balance"], 16), keccak256(code))
        state.codes[read.code_hash] = code
        if read != Account():
            state.accounts[address] = read
        slots = {unhex(slot): unhex(value) for slot, value in account["storage"].items()}
        state.slots |= {(address, slot): value for slot, value in slots.items() if any(value)}
    return state
