"""A chain that is a fork: its anchor, its state above that of a remote, its rules and its reverts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from entresol._native import Account
from entresol.chain.chain import Chain
from entresol.chain.genesis.fork_genesis import AnchoredAccount as KnownAccount
from entresol.chain.genesis.fork_genesis import delegated
from entresol.chain.genesis.genesis import GenesisAccount
from entresol.chain.ledger import rebuild
from entresol.errors import MalformedValue, StoreAnchorMismatch, UnknownBlock
from entresol.execution.block_executor import BEACON_ROOTS, HISTORY_STORAGE
from entresol.primitives.anchor import Anchor
from entresol.primitives.records import BlockRecord
from entresol.primitives.values import Hash32
from entresol.storage.store import Store
from tests.support.evm.programs import BEACON_CODE, HISTORY_CODE
from tests.support.fork.fake_remote import FakeRemote, RemoteAccount
from tests.support.fork.forked_chain import (
    ALICE,
    ANCHOR,
    BOB,
    ETHER,
    HASH,
    NUMBER,
    OTHER,
    REMOTE_ID,
    RULES,
    SLOTS,
    STORAGE,
    STORAGE_CODE,
    TIMESTAMP,
    block_json,
    call,
    genesis,
    open_fork,
    remote,
    seal,
    slot,
    waiting,
)


@pytest.fixture
def source() -> Iterator[FakeRemote]:
    with remote() as it:
        yield it


@pytest.fixture
def chain(source: FakeRemote) -> Iterator[Chain]:
    chain = open_fork(source)
    with waiting():
        yield chain
    chain.close()


def test_the_anchor_has_the_hash_that_the_remote_gave(chain: Chain) -> None:
    assert chain.number == NUMBER
    assert chain.ledger.head_hash == chain.head.hash() == HASH
    assert chain.blocks.block_hash(NUMBER) == HASH
    assert chain.blocks.block_number(HASH) == NUMBER
    assert chain.blocks.record(NUMBER).hash() == HASH


def test_a_block_above_the_anchor_has_no_hash_that_is_given(chain: Chain) -> None:
    seal(chain)
    record = chain.blocks.record(NUMBER + 1)
    forged = msgspec.structs.replace(
        record.header(), number=NUMBER + 2, parent_hash=chain.ledger.head_hash, given_hash=HASH
    )
    with pytest.raises(MalformedValue, match="only an anchor"):
        chain.ledger.store.append(BlockRecord(forged.encode(), (), (), (), ()), [])


def test_what_nobody_changed_comes_from_the_remote(chain: Chain) -> None:
    assert {it: slot(chain, it) for it in (1, 2, 3, 4)} == SLOTS | {4: 0}
    account = chain.latest.account(STORAGE)
    assert account is not None
    assert (account.nonce, account.balance) == (1, 5)
    assert chain.latest.code(account.code_hash) == STORAGE_CODE


def test_an_account_that_is_removed_does_not_come_back(chain: Chain) -> None:
    chain.edit(STORAGE, lambda it: it.set_account(STORAGE, None))
    seal(chain)
    seal(chain)
    assert chain.latest.account(STORAGE) is None
    assert [slot(chain, it) for it in SLOTS] == [0, 0, 0]
    # Nor does its storage if there is an account again.
    chain.edit(STORAGE, lambda it: it.set_account(STORAGE, Account(1, 7)))
    seal(chain)
    assert [slot(chain, it) for it in SLOTS] == [0, 0, 0]
    assert slot(chain, 1, block=NUMBER) == 11


def test_slots_of_before_and_after_a_clearing_are_told_apart(chain: Chain) -> None:
    seal(chain, call(3, 1, 100))
    chain.edit(STORAGE, lambda it: it.replace_storage(STORAGE, {}))
    seal(chain)
    seal(chain, call(4, 2, 200))
    found = [[slot(chain, it, block=NUMBER + at) for it in (1, 2, 3)] for at in range(4)]
    assert found == [[11, 22, 33], [100, 22, 33], [0, 0, 0], [0, 200, 0]]


def test_a_contract_that_is_laid_over_an_address_has_none_of_its_storage(
    source: FakeRemote,
) -> None:
    laid = GenesisAccount(
        nonce=1, code=STORAGE_CODE, storage={Hash32((2).to_bytes(32)): Hash32((7).to_bytes(32))}
    )
    chain = open_fork(source, start=genesis(contracts={STORAGE: laid}))
    assert [slot(chain, it) for it in (1, 2, 3)] == [0, 7, 0]
    assert not source.asked
    chain.close()


def test_development_accounts_keep_nonce_code_and_storage_and_lose_a_delegation(
    source: FakeRemote,
) -> None:
    delegation = b"\xef\x01\x00" + STORAGE
    funded = {
        ALICE: KnownAccount(nonce=9, balance=1, code=delegation),
        BOB: KnownAccount(nonce=2, code=STORAGE_CODE),
    }
    source.slots[(bytes(BOB), 1)] = 5
    chain = open_fork(source, start=genesis(funded=funded))
    alice, bob = chain.latest.account(ALICE), chain.latest.account(BOB)
    assert alice == Account(9, 1_000 * ETHER)
    assert bob is not None
    assert (bob.nonce, bob.balance) == (2, 1_000 * ETHER)
    assert chain.latest.code(bob.code_hash) == STORAGE_CODE
    assert list(delegated(funded)) == [ALICE]
    with waiting():
        assert slot(chain, 1, BOB) == 5
    chain.close()


def test_an_empty_block_asks_nothing(source: FakeRemote) -> None:
    ring = {
        HISTORY_STORAGE: KnownAccount(nonce=1, code=HISTORY_CODE),
        BEACON_ROOTS: KnownAccount(nonce=1, code=BEACON_CODE),
    }
    chain = open_fork(source, start=genesis(kept=ring))
    for _ in range(3):
        chain.builder.seal()
    assert not source.asked
    at = (NUMBER % 8_191).to_bytes(32)
    assert chain.latest.slot(HISTORY_STORAGE, at) == HASH
    chain.close()


def _roots(source: FakeRemote, fetched: list[int]) -> list[Hash32]:
    """Return the roots of the same blocks, on a fork that has read some slots before."""
    chain = open_fork(source)
    with waiting():
        for it in fetched:
            slot(chain, it)
        chain.edit(STORAGE, lambda it: it.set_slot(STORAGE, (3).to_bytes(32), (33).to_bytes(32)))
        seal(chain, call(3, 1, 0), call(4, 2, 5))
        # What it was before, and a slot that has no value.
        seal(chain, call(5, 2, 22), call(6, 9, 0), call(7, 1))
        seal(chain, call(8, 1, to=OTHER), call(9, to=BOB, wei=5))
    roots = [chain.blocks.header(it).state_root for it in range(NUMBER, chain.number + 1)]
    chain.verify()
    chain.close()
    return roots


@pytest.mark.parametrize("fetched", [[1], [2, 3], [1, 2, 3, 9, 10, 11]])
def test_roots_depend_on_writes_and_never_on_reads(fetched: list[int]) -> None:
    with remote() as one, remote() as other:
        assert _roots(one, []) == _roots(other, fetched)


def test_fees_limits_and_time_go_on_from_the_anchor(chain: Chain) -> None:
    assert chain.clock.now() == TIMESTAMP
    seal(chain)
    head = chain.head
    # The anchor was full, so the base fee rises by an eighth.
    assert head.base_fee_per_gas == 9 * 10**9
    assert head.gas_limit == 36_000_000
    assert head.timestamp == TIMESTAMP + 1
    # Ten blobs of excess and one in the anchor, less the target.
    expected = chain.ledger.blob_fees.fork_fields(ANCHOR.header).excess_blob_gas
    assert head.excess_blob_gas == expected
    assert expected is not None
    assert 0 < expected < 11 * 131_072


def test_a_fork_is_reverted_to_its_anchor_and_not_below(chain: Chain) -> None:
    mark = chain.history.mark()
    chain.edit(STORAGE, lambda it: it.replace_storage(STORAGE, {}))
    seal(chain, call(3, 2, 5))
    assert slot(chain, 1) == 0
    chain.history.unwind(mark, None, chain.ledger.reverted_by(NUMBER))
    assert chain.number == NUMBER
    assert chain.ledger.head_hash == HASH
    assert [slot(chain, it) for it in (1, 2)] == [11, 22]
    # Another block takes its place, and leaves nothing of it.
    seal(chain)
    assert [slot(chain, it) for it in (1, 2)] == [11, 22]
    with pytest.raises(UnknownBlock):
        chain.state_after(NUMBER - 1)


def test_a_restart_without_the_remote_has_all_that_was_written(
    source: FakeRemote, tmp_path: Path
) -> None:
    chain = open_fork(source, tmp_path / "fork")
    with waiting():
        seal(chain, call(3, 1, 100, wei=1))
        head = chain.head
    chain.close()
    with FakeRemote() as gone:
        gone.failure = ConnectionError("away")
        again = open_fork(gone, tmp_path / "fork")
        assert again.head == head
        assert again.clock.now() == head.timestamp
        assert slot(again, 1) == 100
        account = again.latest.account(STORAGE)
        assert account is not None
        assert again.latest.code(account.code_hash) == STORAGE_CODE
        assert again.genesis == genesis()
        assert not gone.asked
        with waiting(), pytest.raises(ConnectionError, match="away"):
            slot(again, 2)
        again.close()


def test_a_fork_is_rebuilt_without_its_remote(source: FakeRemote, tmp_path: Path) -> None:
    chain = open_fork(source, tmp_path / "fork")
    with waiting():
        seal(chain, call(3, 1, 0), call(4, 2, 5, wei=1))
        chain.edit(OTHER, lambda it: it.set_account(OTHER, None))
        chain.edit(
            STORAGE, lambda it: it.replace_storage(STORAGE, {(7).to_bytes(32): (7).to_bytes(32)})
        )
        seal(chain)
    expected = dict(chain.ledger.store._db.scan(b""))
    chain.close()
    store = Store.open(tmp_path / "fork", rebuilding=True)
    rebuild(store)
    assert dict(store._db.scan(b"")) == expected
    store.close()
    again = open_fork(source, tmp_path / "fork")
    assert [slot(again, it) for it in (1, 2, 7)] == [0, 0, 7]
    with waiting():
        again.verify()
    again.close()


@pytest.mark.parametrize(
    "other",
    [
        Anchor.of_json(REMOTE_ID, block_json(hash="0x" + "a6" * 32)),
        Anchor.of_json(REMOTE_ID + 1, block_json()),
    ],
)
def test_a_fork_of_another_block_is_rejected_with_both(
    source: FakeRemote, tmp_path: Path, other: Anchor
) -> None:
    open_fork(source, tmp_path / "fork").close()
    with pytest.raises(StoreAnchorMismatch) as caught:
        open_fork(source, tmp_path / "fork", genesis(other))
    assert str(ANCHOR) in str(caught.value)
    assert str(other) in str(caught.value)


def test_a_chain_that_is_no_fork_is_not_opened_as_one(source: FakeRemote, tmp_path: Path) -> None:
    plain = msgspec.structs.replace(genesis(), anchor=None)
    Chain.open(tmp_path / "chain", RULES, plain).close()
    with pytest.raises(StoreAnchorMismatch, match="not a fork, and a fork of block"):
        open_fork(source, tmp_path / "chain")
    open_fork(source, tmp_path / "fork").close()
    with pytest.raises(StoreAnchorMismatch, match="no fork is given"):
        Chain.open(tmp_path / "fork", RULES, plain)


def test_an_account_of_the_remote_that_is_empty_is_absent(source: FakeRemote, chain: Chain) -> None:
    source.accounts[bytes(b"\x77" * 20)] = RemoteAccount()
    assert chain.latest.account(b"\x77" * 20) is None
