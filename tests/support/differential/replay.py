"""Our side: a state kept in dictionaries, and blocks run on it the way a producer runs them."""

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
from tests.support.hex_data import unhex

NO_CODE = keccak256(b"")
ZERO = bytes(32)
HISTORY = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")
HISTORY_SLOTS = 8191


@dataclass
class Source:
    """The state after one block."""

    accounts: dict[bytes, Account] = field(default_factory=dict)
    codes: dict[bytes, bytes] = field(default_factory=lambda: {NO_CODE: b""})
    storage: dict[bytes, dict[bytes, bytes]] = field(default_factory=dict)
    hashes: dict[int, bytes] = field(default_factory=dict)

    def account(self, address: bytes, /) -> Account | None:
        """Return an account, or None."""
        return self.accounts.get(address)

    def code(self, code_hash: bytes, /) -> bytes:
        """Return the code of that hash."""
        return self.codes[code_hash]

    def slot(self, address: bytes, slot: bytes, /) -> bytes:
        """Return the value of a slot."""
        return self.storage.get(address, {}).get(slot, ZERO)

    def block_hash(self, number: int, /) -> bytes:
        """Return the hash of an earlier block."""
        return self.hashes.get(number, ZERO)

    def after(self, changes: Changes) -> Source:
        """Return the state after `changes`, having checked what they say was before."""
        storage = {address: dict(slots) for address, slots in self.storage.items()}
        following = Source(dict(self.accounts), self.codes | changes.codes, storage, self.hashes)
        for change in changes.accounts:
            assert change.before == self.account(change.address)
            assert change.after is None or change.after != Account()
            following._set_account(change.address, change.after)
            if change.destroyed:
                following.storage.pop(change.address, None)
            for slot, (before, after) in change.storage.items():
                assert before == self.slot(change.address, slot)
                following._set_slot(change.address, slot, after)
        return following

    def _set_account(self, address: bytes, account: Account | None) -> None:
        if account is None:
            self.accounts.pop(address, None)
            return
        self.accounts[address] = account
        assert account.code_hash in self.codes

    def _set_slot(self, address: bytes, slot: bytes, value: bytes) -> None:
        slots = self.storage.setdefault(address, {})
        slots[slot] = value
        if value == ZERO:
            del slots[slot]


@dataclass(frozen=True)
class Ran:
    """A block that was run: where it started, and what came of each transaction."""

    start: Snapshot
    env: BlockEnv
    parent_hash: bytes
    results: Sequence[ExecutionResult]


class Replay:
    """A chain that runs the blocks that anvil made."""

    def __init__(self, fork: str, source: Source) -> None:
        self.rules = Rules(CHAIN_ID, fork)
        self.source = source
        self.snapshot = Snapshot(source)

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
        self.source.hashes[number - 1] = parent_hash
        start, env = self.snapshot, environment(block)
        overlay = self.begin(start, parent_hash, number)
        results = []
        for message in messages:
            outcome = execute(overlay, self.rules, env, message)
            overlay.apply(outcome)
            results.append(outcome)
        self.source = self.source.after(overlay.changes())
        self.snapshot = overlay.seal(self.source)
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


def read_state(anvil: Anvil) -> Source:
    """Return all of anvil's state."""
    dump = json.loads(gzip.decompress(unhex(anvil("anvil_dumpState"))))
    source = Source()
    for address, account in dump["accounts"].items():
        code = unhex(account["code"])
        read = Account(account["nonce"], int(account["balance"], 16), keccak256(code))
        source.codes[read.code_hash] = code
        if read != Account():
            source.accounts[unhex(address)] = read
        slots = {unhex(slot): unhex(value) for slot, value in account["storage"].items()}
        slots = {slot: value for slot, value in slots.items() if value != ZERO}
        if slots:
            source.storage[unhex(address)] = slots
    return source
