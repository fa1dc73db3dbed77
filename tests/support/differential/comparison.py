"""Sends blocks of transactions to anvil, runs them here, and compares all that can be seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from entresol._native import Account, ExecutionResult, Snapshot
from tests.support.anvil import Anvil, running_anvil
from tests.support.differential.replay import NO_CODE, Ran, Replay, read_state
from tests.support.differential.transactions import Signed
from tests.support.differential.world import World, found
from tests.support.hex_data import unhex
from tests.support.rpc_client import RpcError

GAS_LIMIT = 10**12
LATEST = ("latest", False)
FIRST_TIMESTAMP = 1_800_000_000


@dataclass(frozen=True)
class Mined:
    """A block that both sides made."""

    transactions: Sequence[Signed]
    block: dict[str, Any]
    ran: Ran


@dataclass
class Peers:
    """Anvil and our own chain, in the same state."""

    anvil: Anvil
    replay: Replay
    world: World
    mined: list[Mined] = field(default_factory=list)
    touched: dict[bytes, set[bytes]] = field(default_factory=dict)

    def mine(self, transactions: Sequence[Signed]) -> Mined:
        """Put `transactions` in a block on both sides and compare what came of each."""
        # Anvil works on the calls of a batch at once, so nothing that has an order may be one.
        for signed in transactions:
            method, params = _send(signed)
            assert self.anvil(method, *params) == "0x" + signed.hash.hex()
        self.anvil("evm_setNextBlockTimestamp", FIRST_TIMESTAMP + 12 * len(self.mined))
        self.anvil("evm_mine")
        block = self.anvil("eth_getBlockByNumber", *LATEST)
        receipts = self.anvil("eth_getBlockReceipts", "latest")
        assert list(map(unhex, block["transactions"])) == [signed.hash for signed in transactions]
        ran = self.replay.run(block, [signed.message for signed in transactions])
        for signed, outcome, receipt in zip(transactions, ran.results, receipts, strict=True):
            assert _told(outcome) == _receipt(receipt), signed.kind
        self._learn()
        self.mined.append(Mined(transactions, block, ran))
        return self.mined[-1]

    def compare_touched(self, mined: Mined) -> None:
        """Compare every account and slot that the block touched."""
        touched = _touched(mined.ran.results)
        for address, slots in touched.items():
            self.touched.setdefault(address, set()).update(slots)
        calls = [call for item in touched.items() for call in _reads_of(*item)]
        theirs = iter(self.anvil.batch(calls))
        for address, slots in touched.items():
            nonce, balance, code = (next(theirs) for _ in range(3))
            values = [unhex(next(theirs)) for _ in slots]
            read = (int(nonce, 16), int(balance, 16), unhex(code), values)
            assert read == _ours(self.replay.snapshot, address, slots), address.hex()

    def compare_whole_state(self) -> None:
        """Compare every account and slot that exists on either side."""
        theirs, ours = read_state(self.anvil), self.replay.state
        assert ours.accounts == theirs.accounts
        assert ours.slots == theirs.slots
        code_hashes = {account.code_hash for account in ours.accounts.values()}
        assert all(ours.codes[code_hash] == theirs.codes[code_hash] for code_hash in code_hashes)

    def compare_with_fresh_snapshot(self) -> None:
        """Check that the sealed snapshot agrees with its state about all that was ever touched."""
        snapshot, fresh = self.replay.snapshot, Snapshot(self.replay.state)
        for address, slots in self.touched.items():
            account = snapshot.account(address)
            assert account == fresh.account(address)
            code_hash = NO_CODE if account is None else account.code_hash
            assert snapshot.code(code_hash) == fresh.code(code_hash)
            for slot in slots:
                assert snapshot.slot(address, slot) == fresh.slot(address, slot)

    def _learn(self) -> None:
        accounts = self.replay.state.accounts
        self.world.start_block({address: account.nonce for address, account in accounts.items()})


@contextmanager
def peers(fork: str, seed: int, *arguments: str) -> Iterator[Peers]:
    """Start anvil with the world on it, and our chain from the same genesis."""
    options = ["--no-mining", "--order", "fifo", "--hardfork", fork, "--timestamp", "1700000000"]
    options += ["--gas-limit", str(GAS_LIMIT), "--enable-tx-gas-limit", *arguments]
    with running_anvil(*options) as anvil:
        found(anvil)
        yield Peers(anvil, Replay(fork, read_state(anvil)), World(Random(seed), fork))


def rejects(anvil: Anvil, signed: Signed) -> bool:
    """Whether anvil does not take a transaction."""
    return isinstance(anvil.batch([_send(signed)])[0], RpcError)


def _send(signed: Signed) -> tuple[str, list[object]]:
    return "eth_sendRawTransaction", ["0x" + signed.raw.hex()]


def _told(outcome: ExecutionResult) -> dict[str, Any]:
    return {
        "succeeded": outcome.status == "success",
        "gas": outcome.gas_used,
        "created": outcome.created,
        "logs": outcome.logs,
    }


def _receipt(receipt: dict[str, Any]) -> dict[str, Any]:
    succeeded = receipt["status"] == "0x1"
    created = receipt["contractAddress"]
    logs = [
        (unhex(log["address"]), tuple(map(unhex, log["topics"])), unhex(log["data"]))
        for log in receipt["logs"]
    ]
    return {
        "succeeded": succeeded,
        "gas": int(receipt["gasUsed"], 16),
        # Anvil names the address that a failed creation would have had.
        "created": unhex(created) if created and succeeded else None,
        "logs": logs,
    }


def _touched(results: Sequence[ExecutionResult]) -> dict[bytes, list[bytes]]:
    touched: dict[bytes, set[bytes]] = {}
    for outcome in results:
        for address, slots in outcome.reads.items():
            touched.setdefault(address, set()).update(slots)
    return {address: sorted(slots) for address, slots in touched.items()}


def _reads_of(address: bytes, slots: Sequence[bytes]) -> list[tuple[str, list[str]]]:
    holder = "0x" + address.hex()
    account = ("eth_getTransactionCount", "eth_getBalance", "eth_getCode")
    about_slots = [("eth_getStorageAt", [holder, "0x" + slot.hex(), "latest"]) for slot in slots]
    return [(method, [holder, "latest"]) for method in account] + about_slots


def _ours(
    state: Snapshot, address: bytes, slots: Sequence[bytes]
) -> tuple[int, int, bytes, list[bytes]]:
    account = state.account(address) or Account()
    values = [state.slot(address, slot) for slot in slots]
    return account.nonce, account.balance, state.code(account.code_hash), values
