"""Whole chains: the roots of every block equal anvil's."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from typing import Any

import pytest

from entresol._native import EMPTY_ROOT, Snapshot, Trie, keccak256, rlp_encode
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.ledger import Ledger
from entresol.chain.rules import ChainRules
from entresol.execution.block_executor import BlockExecutor, ExecutedBlock
from entresol.execution.evm_env import BlockEnv
from entresol.primitives.records import StoredChange, stored_account
from entresol.primitives.rlp import encode_uint
from entresol.primitives.transactions import decode
from entresol.primitives.values import Address, Hash32
from entresol.state.snapshots import HistoricalState
from entresol.storage.store import Store
from tests.support.anvil import Anvil
from tests.support.differential.comparison import Mined, peers
from tests.support.differential.generator import blocks
from tests.support.differential.replay import HISTORY, HISTORY_SLOTS, NO_CODE, CheckedState
from tests.support.differential.transactions import CHAIN_ID, Draft
from tests.support.hex_data import unhex

pytestmark = pytest.mark.peer

SEED = 20_260_404
ROUNDS = 32
BLOCK_SIZE = 21


class AnvilHashes(HistoricalState):
    """The state after one of our blocks, with the hashes of anvil's blocks, whose headers say more."""

    def __init__(self, store: Store, number: int, hashes: dict[int, bytes]) -> None:
        super().__init__(store, number)
        self._hashes = hashes

    def block_hash(self, number: int) -> bytes:
        return self._hashes[number]


class Follower:
    """A ledger of ours that seals the blocks that anvil made."""

    def __init__(self, state: CheckedState, store: Store) -> None:
        storage: defaultdict[bytes, dict[Hash32, Hash32]] = defaultdict(dict)
        for (address, slot), value in state.slots.items():
            storage[address][Hash32(slot)] = Hash32(value)
        alloc = {
            Address(address): GenesisAccount(
                nonce=account.nonce,
                balance=account.balance,
                code=state.codes[account.code_hash],
                storage=storage[address],
            )
            for address, account in state.accounts.items()
        }
        self.ledger = Ledger(
            store, ChainRules.layer_1(CHAIN_ID), Genesis(chain_id=CHAIN_ID, alloc=alloc)
        )
        self.hashes: dict[int, bytes] = {}

    def seal(self, mined: Mined) -> ExecutedBlock:
        block, ledger = mined.block, self.ledger
        number, parent_hash = int(block["number"], 16), unhex(block["parentHash"])
        self.hashes[number - 1] = parent_hash
        snapshot = Snapshot(AnvilHashes(ledger.store, ledger.number, self.hashes))
        executor = BlockExecutor(ledger.rules.evm_rules(), snapshot, _env(block), ledger.parent)
        executor.edit([self._history(number, parent_hash)], [])
        for signed in mined.transactions:
            executor.run(decode(signed.raw))
        executed = executor.finish(ledger.trie)
        ledger.append(executed)
        return executed

    def _history(self, number: int, parent_hash: bytes) -> StoredChange:
        """Return what anvil writes into the contract that stores block hashes, before all transactions."""
        account = self.ledger.latest.account(HISTORY)
        assert account is not None
        slot = ((number - 1) % HISTORY_SLOTS).to_bytes(32)
        return StoredChange(HISTORY, stored_account(account), slots=((slot, parent_hash),))


def _env(block: dict[str, Any]) -> BlockEnv:
    return BlockEnv(
        number=int(block["number"], 16),
        timestamp=int(block["timestamp"], 16),
        gas_limit=int(block["gasLimit"], 16),
        base_fee=int(block["baseFeePerGas"], 16),
        beneficiary=Address(unhex(block["miner"])),
        prevrandao=Hash32(unhex(block["mixHash"])),
    )


def anvil_dump(anvil: Anvil) -> dict[str, Any]:
    dump: dict[str, Any] = json.loads(gzip.decompress(unhex(anvil("anvil_dumpState"))))
    accounts: dict[str, Any] = dump["accounts"]
    return accounts


def root_of(dump: dict[str, Any], *, as_anvil: bool) -> str:
    """Return the state root of a dump, by Ethereum's rules or as anvil computes it.

    Anvil gives a leaf to every account and slot it has ever read, also to empty accounts and to
    slots that hold zero, which Ethereum's state does not contain.
    """
    leaves = []
    for address, account in dump.items():
        nonce, balance = account["nonce"], int(account["balance"], 16)
        code_hash = keccak256(unhex(account["code"]))
        slots = [
            (unhex(slot), unhex(value).lstrip(b"\0")) for slot, value in account["storage"].items()
        ]
        kept = [(keccak256(slot), rlp_encode(value)) for slot, value in slots if value or as_anvil]
        if (nonce, balance, code_hash) == (0, 0, NO_CODE) and not as_anvil:
            continue
        storage_root, _ = Trie(lambda _: None).update(EMPTY_ROOT, kept)
        fields = [encode_uint(nonce), encode_uint(balance), storage_root, code_hash]
        leaves.append((keccak256(unhex(address)), rlp_encode(fields)))
    root, _ = Trie(lambda _: None).update(EMPTY_ROOT, leaves)
    return "0x" + root.hex()


def test_a_long_random_chain_has_the_roots_of_anvils() -> None:
    store = Store.temporary()
    count = 0
    with peers("osaka", SEED) as both:
        follower = Follower(both.replay.state, store)
        for transactions in blocks(both.world, ROUNDS, BLOCK_SIZE):
            mined = both.mine(transactions)
            header = follower.seal(mined).header
            assert str(header.transactions_root) == mined.block["transactionsRoot"]
            assert str(header.receipts_root) == mined.block["receiptsRoot"]
            assert str(header.logs_bloom) == mined.block["logsBloom"]
            assert hex(header.gas_used) == mined.block["gasUsed"]
            dump = anvil_dump(both.anvil)
            assert root_of(dump, as_anvil=True) == mined.block["stateRoot"]
            assert root_of(dump, as_anvil=False) == str(header.state_root)
            count += len(transactions)
        assert len(both.mined) >= 100
    assert count >= 2_000
    store.close()


def test_a_chain_without_empty_accounts_and_zero_slots_has_anvils_own_state_root() -> None:
    store = Store.temporary()
    recipients = [keccak256(bytes([number]))[12:] for number in range(200)]
    with peers("osaka", SEED) as both:
        follower = Follower(both.replay.state, store)
        for start in range(0, len(recipients), 20):
            drafts = [Draft(to=to, value=1, gas=21_000) for to in recipients[start : start + 20]]
            mined = both.mine([both.world.sign("transfer", draft) for draft in drafts])
            header = follower.seal(mined).header
            assert str(header.state_root) == mined.block["stateRoot"]
    store.close()
