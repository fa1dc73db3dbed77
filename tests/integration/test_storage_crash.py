"""A writer killed at any moment: acknowledged blocks are there, and nothing half-written is."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
import rlp
from trie.hexary import HexaryTrie

from entresol._native import Snapshot, keccak256
from entresol.execution.replay import re_execute
from entresol.state.snapshots import HistoricalState
from entresol.storage import tables
from entresol.storage.store import Store
from tests.support.chain import block_writer as writer
from tests.support.chain.block_production import Producer
from tests.support.chain.records import dump

# ENTRESOL_KILLS=200 for the long run.
KILLS = int(os.environ.get("ENTRESOL_KILLS", "50"))
DIRECTORIES = 5

BY_NUMBER = (
    tables.RECORD,
    tables.HASH_OF_NUMBER,
    tables.TRANSACTION_LOCATION,
    tables.HASH_OF_NONCE,
    tables.ACCOUNT,
    tables.SLOT,
    tables.LOGS,
)

pytestmark = pytest.mark.slow


def kill_a_writer(
    path: Path, randomness: random.Random, *, after: int = 0
) -> list[tuple[int, str]]:
    """Let a writer run for a moment after some blocks, and return those that were acknowledged."""
    command = [sys.executable, "-m", "tests.support.chain.block_writer", str(path)]
    scratch = path.with_name("scratch")
    scratch.mkdir(exist_ok=True)
    with subprocess.Popen(
        [*command, str(randomness.randrange(10**9))],
        stdout=subprocess.PIPE,
        text=True,
        # A killed process does not clean up.
        env=os.environ | {"TMPDIR": str(scratch)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        lines = [process.stdout.readline() for _ in range(after)]
        # Without blocks before it, opening takes some of this time, so that it is hit as well.
        time.sleep(randomness.expovariate(1 / 0.08))
        process.kill()
        lines += process.stdout.read().splitlines(keepends=True)
    words = [line.split() for line in lines if line.endswith("\n")]
    return [(int(number), block_hash) for number, block_hash in words]


def check_blocks(store: Store, acknowledged: dict[int, str]) -> None:
    """Check that every acknowledged block is there, with no gap and nothing above the head."""
    head = -1 if store.head_number is None else store.head_number
    records = list(store.records())
    assert len(records) == head + 1
    assert head >= max(acknowledged, default=-1)
    headers = [record.header() for record in records]
    assert all(it.number == number for number, it in enumerate(headers))
    assert all(later.parent_hash == it.hash() for it, later in pairwise(headers))
    assert acknowledged.items() <= {header.number: str(header.hash()) for header in headers}.items()
    above = [
        key for key in dump(store) if key.startswith(BY_NUMBER) and tables.block_of(key) > head
    ]
    assert above == []


def check_rows_of_head(store: Store) -> None:
    """Check that the store has, but for nodes, what one has that was given the records anew."""
    follower = Store.temporary()
    everything = dump(store)
    for record in store.records():
        follower.append(record, [])
    derived = dump(follower)
    follower.close()
    nodes = {key for key in everything if key.startswith(tables.NODE)}
    assert {key: value for key, value in everything.items() if key not in nodes} == derived


def check_root(store: Store) -> None:
    """Check that the state root of the head is what py-trie makes of all accounts and slots."""
    assert store.head_number is not None
    record = store.get_record(store.head_number)
    assert record is not None
    rows = dump(store)
    addresses = {key[1:21] for key in rows if key.startswith(tables.ACCOUNT)}
    slots = {(key[1:21], key[21:53]) for key in rows if key.startswith(tables.SLOT)}
    state = HexaryTrie({})
    for address in addresses:
        account = store.account(address, store.head_number)
        if account is None:
            continue
        storage = HexaryTrie({})
        for _, slot in (slot for slot in slots if slot[0] == address):
            if value := store.slot(address, slot, store.head_number):
                storage[keccak256(slot)] = rlp.encode(value)
        state[keccak256(address)] = rlp.encode(
            [account.nonce, account.balance, storage.root_hash, account.code_hash]
        )
    assert state.root_hash == record.header().state_root


def check_execution(store: Store, producer: Producer) -> None:
    """Check that the last block comes out the same when it is executed again."""
    assert store.head_number is not None
    if store.head_number == 0:
        return
    record, parent = store.get_record(store.head_number), store.get_record(store.head_number - 1)
    assert record is not None
    assert parent is not None
    snapshot = Snapshot(HistoricalState(store, store.head_number - 1))
    re_execute(record, parent.header(), rules=producer.rules, snapshot=snapshot, trie=producer.trie)


@pytest.mark.parametrize("directory", range(DIRECTORIES))
def test_what_was_acknowledged_survives_being_killed(tmp_path: Path, directory: int) -> None:
    randomness = random.Random(f"{directory} {os.environ.get('ENTRESOL_SEED', '')}")
    acknowledged: dict[int, str] = {}
    for kill in range(KILLS // DIRECTORIES):
        # Every other one seals something, however slow the machine is.
        acknowledged |= dict(kill_a_writer(tmp_path / "chain", randomness, after=kill % 2))
        store = Store.open(tmp_path / "chain")
        check_blocks(store, acknowledged)
        if store.head_number is not None:
            producer = Producer(store)
            check_execution(store, producer)
            if kill % 5 == 4:
                check_rows_of_head(store)
                check_root(store)
            sealed = producer.seal(*writer.random_block(randomness, producer))
            acknowledged[sealed.header.number] = str(sealed.header.hash())
        store.close()
    assert acknowledged
