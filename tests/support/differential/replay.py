"""Our side: a state in dictionaries, and blocks executed on it the way a producer executes them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from entresol._native import (
    Account,
    BlockEnv,
    Changes,
    ExecutionResult,
    Overlay,
    Rules,
    Snapshot,
    TxEnv,
    execute,
    keccak256,
)
from tests.support.anvil import Anvil
from tests.support.differential.transactions import CHAIN_ID
from tests.support.evm.in_memory_state import InMemoryState
from tests.support.hex_data import unhex

NO_CODE = keccak256(b"")
ZERO = bytes(32)
HISTORY = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")
HISTORY_SLOTS = 8191


@dataclass
class CheckedState(InMemoryState):
    """The state after one block, which checks what the next block changes."""

    codes: dict[bytes, bytes] = field(default_factory=lambda: {NO_CODE: b""})

    def block_hash(self, number: int, /) -> bytes:
        """Return the hash of an earlier block."""
        return self.hashes.get(number, ZERO)

    def after(self, changes: Changes) -> CheckedState:
        """Return the state after `changes`, having checked the values that they have as previous."""
        for change in changes.accounts:
            assert change.before == self.account(change.address)
            assert change.after is None or change.after != Account()
            for slot, (before, _) in change.storage.items():
                assert before == (self.slot(change.address, slot) or ZERO)
        following = CheckedState(
            dict(self.accounts), dict(self.codes), dict(self.slots), self.hashes
        )
        following.write(changes)
        assert all(
            account.after is None or account.after.code_hash in following.codes
            for account in changes.accounts
        )
        return following


@dataclass(frozen=True)
class Ran:
    """An executed block: the state before it, and the result of each transaction."""

    start: Snapshot
    env: BlockEnv
    parent_hash: bytes
    results: Sequence[ExecutionResult]


class Replay:
    """A chain that runs the blocks that anvil made."""

    def __init__(self, fork: str, state: CheckedState) -> None:
        self.rules = Rules(CHAIN_ID, fork)
        self.state = state
        self.snapshot = Snapshot(state)

    def begin(self, start: Snapshot, parent_hash: bytes, number: int) -> Overlay:
        """Return a block under construction, with what happens before its first transaction."""
        overlay = Overlay(start)
        if self.rules.fork in {"prague", "osaka"}:
            slot = ((number - 1) % HISTORY_SLOTS).to_bytes(32, "big")
            overlay.set_slot(HISTORY, slot, parent_hash)
        return overlay

    def run(self, block: dict[str, Any], messages: Sequence[TxEnv]) -> Ran:
        """Run a block and move on to the state after it."""
        number, parent_hash = int(block["number"], 16), unhex(block["parentHash"])
        self.state.hashes[number - 1] = parent_hash
        start, env = self.snapshot, environment(block)
        overlay = self.begin(start, parent_hash, number)
        results = []
        for message in messages:
            outcome = execute(overlay, self.rules, env, message)
            overlay.apply(outcome)
            results.append(outcome)
        self.state = self.state.after(overlay.changes())
        self.snapshot = overlay.seal(self.state)
        return Ran(start, env, parent_hash, results)


def environment(block: dict[str, Any]) -> BlockEnv:
    """Read the environment off anvil's block."""
    return BlockEnv(
        number=int(block["number"], 16),
        timestamp=int(block["timestamp"], 16),
        gas_limit=int(block["gasLimit"], 16),
        beneficiary=unhex(block["miner"]),
        base_fee=int(block["baseFeePerGas"], 16),
        prevrandao=unhex(block["mixHash"]),
        difficulty=int(block["difficulty"], 16),
    )


def read_state(anvil: Anvil) -> CheckedState:
    """Return all of anvil's state."""
    dump = json.loads(gzip.decompress(unhex(anvil("anvil_dumpState"))))
    state = CheckedState()
    for text, account in dump["accounts"].items():
        address, code = unhex(text), unhex(account["code"])
        read = Account(account["nonce"], int(account["balance"], 16), keccak256(code))
        state.codes[read.code_hash] = code
        if read != Account():
            state.accounts[address] = read
        slots = {unhex(slot): unhex(value) for slot, value in account["storage"].items()}
        state.slots |= {(address, slot): value for slot, value in slots.items() if value != ZERO}
    return state
