"""Values of a remote chain below a local state: what is known, what is missed, who waits and who fails."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import pytest

from entresol import errors
from entresol._native import (
    Account,
    CancelFlag,
    Overlay,
    RemoteTable,
    Snapshot,
    has_code,
    wait_for_remote,
)
from tests.support.evm.in_memory_state import ALICE, BOB, CONTRACT, EMPTY_CODE
from tests.support.fork.fake_remote import FakeRemote, LocalRows, RemoteAccount, on_thread, waiting
from tests.support.hex_data import word
from tests.support.polling import PATIENCE_SECONDS, eventually

CODE = b"\x5f\x54"


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    accounts = {ALICE: RemoteAccount(7, 10**18), CONTRACT: RemoteAccount(1, 0, CODE)}
    with FakeRemote(accounts, {(CONTRACT, 1): 42}) as made:
        yield made


def ignored() -> None:
    """Wake nobody."""


def test_a_miss_names_the_key_and_changes_nothing(remote: FakeRemote) -> None:
    snapshot = Snapshot(LocalRows(remote.table))
    with pytest.raises(errors.StateMissing) as missing:
        snapshot.account(ALICE)
    assert missing.value.table is remote.table
    assert missing.value.keys == (("account", ALICE),)
    with pytest.raises(errors.StateMissing) as missing:
        snapshot.slot(CONTRACT, word(1))
    assert missing.value.keys == (("slot", CONTRACT, word(1)),)
    assert (remote.table.asked, snapshot.cached) == (0, 0)


def test_an_overlay_that_misses_is_as_it_was(remote: FakeRemote) -> None:
    overlay = Overlay(Snapshot(LocalRows(remote.table)))
    for write in (
        lambda: overlay.set_balance(ALICE, 5),
        lambda: overlay.set_code(ALICE, CODE),
        lambda: overlay.set_slot(ALICE, word(1), word(2)),
    ):
        with pytest.raises(errors.StateMissing):
            write()
    assert not overlay.changes().accounts


def test_a_thread_that_waits_reads_what_the_remote_has(remote: FakeRemote) -> None:
    snapshot = Snapshot(LocalRows(remote.table))
    account = on_thread(lambda: snapshot.account(CONTRACT))
    assert account is not None
    assert on_thread(lambda: snapshot.code(account.code_hash)) == CODE
    assert on_thread(lambda: snapshot.slot(CONTRACT, word(1))) == word(42)
    assert on_thread(lambda: snapshot.slot(CONTRACT, word(2))) == word(0)
    assert on_thread(lambda: snapshot.account(BOB)) is None
    assert on_thread(lambda: has_code(snapshot, CONTRACT))
    # From now on it is known, on every thread.
    assert snapshot.account(CONTRACT) == account
    assert (remote.table.asked, remote.table.waiting) == (4, 0)


def test_a_local_value_hides_that_of_the_remote(remote: FakeRemote) -> None:
    local = LocalRows(remote.table)
    local.accounts = {ALICE: Account(8, 1, EMPTY_CODE), CONTRACT: None}
    local.slots = {(CONTRACT, word(1)): b""}
    snapshot = Snapshot(local)
    assert snapshot.account(ALICE) == Account(8, 1, EMPTY_CODE)
    assert snapshot.account(CONTRACT) is None
    assert snapshot.slot(CONTRACT, word(1)) == word(0)
    assert remote.table.asked == 0


def test_a_write_waits_without_the_lock_of_the_overlay(remote: FakeRemote) -> None:
    overlay = Overlay(Snapshot(LocalRows(remote.table)))
    with ThreadPoolExecutor(1) as pool:
        with remote.held():
            write = pool.submit(waiting(lambda: overlay.set_balance(ALICE, 5)))
            eventually(lambda: remote.table.waiting == 1)
            # Neither the GIL nor the lock of the overlay is held meanwhile.
            with pytest.raises(errors.StateMissing):
                overlay.set_nonce(ALICE, 1)
        write.result()
    assert overlay.account(ALICE) == Account(7, 5, EMPTY_CODE)


def test_two_threads_that_miss_one_key_ask_once(remote: FakeRemote) -> None:
    snapshot = Snapshot(LocalRows(remote.table))
    with ThreadPoolExecutor(8) as pool:
        with remote.held():
            reads = [pool.submit(waiting(lambda: snapshot.account(ALICE))) for _ in range(8)]
            eventually(lambda: remote.table.waiting == 8)
        assert {read.result() for read in reads} == {Account(7, 10**18, EMPTY_CODE)}
    assert remote.asked == {("account", ALICE): 1}


def test_a_failure_is_that_of_everyone_who_waits_and_is_not_remembered(remote: FakeRemote) -> None:
    snapshot = Snapshot(LocalRows(remote.table))
    remote.failures["account"] = errors.RemoteUnreachable("http://there", "eth_getProof", "gone")
    with ThreadPoolExecutor(4) as pool:
        with remote.held():
            reads = [pool.submit(waiting(lambda: snapshot.account(ALICE))) for _ in range(4)]
            eventually(lambda: remote.table.waiting == 4)
        for read in reads:
            with pytest.raises(errors.RemoteUnreachable):
                read.result()
    remote.failures.clear()
    assert on_thread(lambda: snapshot.account(ALICE)) is not None
    assert remote.asked == {("account", ALICE): 2}


def test_a_wait_has_an_end_and_the_next_read_asks_again(remote: FakeRemote) -> None:
    snapshot = Snapshot(LocalRows(remote.table))
    remote.silent.add("account")
    with pytest.raises(errors.RemoteTimeout, match=f"account 0x{ALICE.hex()}"):
        on_thread(lambda: snapshot.account(ALICE), 0.02)
    remote.silent.clear()
    assert on_thread(lambda: snapshot.account(ALICE)) is not None
    assert remote.asked == {("account", ALICE): 2}


def test_a_wait_ends_when_nobody_needs_it_any_more(remote: FakeRemote) -> None:
    """As when a client hangs up: its thread is free."""
    snapshot, flag = Snapshot(LocalRows(remote.table)), CancelFlag()
    remote.silent.add("account")

    def work() -> object:
        with flag:
            return snapshot.account(ALICE)

    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(waiting(work))
        eventually(lambda: remote.table.waiting == 1)
        flag.set()
        with pytest.raises(errors.ExecutionStopped, match="cancelled"):
            read.result(PATIENCE_SECONDS)


def test_work_that_was_queued_behind_a_silent_remote_has_waited_too() -> None:
    """Otherwise who is behind many others would wait many times as long."""
    with FakeRemote(silence=0.5) as remote:
        table = RemoteTable(ignored, silence=0.5, like=remote.table)
        remote.silent.add("account")
        with pytest.raises(errors.RemoteWaitOver):
            on_thread(lambda: Snapshot(LocalRows(remote.table)).account(ALICE))

        def queued() -> float:
            wait_for_remote(600.0, 100.0)
            begun = monotonic()
            try:
                # Of another block of the same remote.
                Snapshot(LocalRows(table)).account(ALICE)
            except errors.RemoteWaitOver:
                return monotonic() - begun
            finally:
                wait_for_remote(None)
            return -1.0

        with ThreadPoolExecutor(1) as pool:
            assert 0 <= pool.submit(queued).result() < 0.4
            # It has delivered something since: who was queued may be lucky, too.
            table.delivered()
            assert pool.submit(queued).result() > 0.4


def test_wanted_keys_wake_once_until_some_are_taken() -> None:
    calls: list[int] = []
    table = RemoteTable(lambda: calls.append(1))
    table.want([("account", ALICE), ("hash", 7), ("account", ALICE)])
    table.want([("slot", BOB, word(1))])
    assert len(calls) == 1
    taken = table.take_wanted(2)
    table.want([("account", BOB), ("hash", 7)])
    assert len(calls) == 2
    taken += table.take_wanted(10)
    assert sorted(taken, key=str) == sorted(
        [("account", ALICE), ("hash", 7), ("slot", BOB, word(1)), ("account", BOB)], key=str
    )
    assert (table.take_wanted(10), table.asked) == ([], 4)


def test_a_callback_comes_once_all_keys_are_known_or_failed() -> None:
    table = RemoteTable(ignored)
    calls: list[BaseException | None] = []
    keys: list[Any] = [("account", ALICE), ("slot", ALICE, word(1)), ("hash", 7)]
    table.want(keys, lambda: calls.append(table.failure(keys)))
    table.put_accounts([(ALICE, 1, 2, b"")])
    table.put_hashes([(7, word(7))])
    assert not calls
    table.fail(keys[1:2], error := OSError("gone"))
    assert calls == [error]
    # Wanted again, the failure is forgotten.
    table.want(keys, lambda: calls.append(table.failure(keys)))
    table.put_slots([(ALICE, word(1), b"\x01")])
    assert calls == [error, None]
    table.want(keys, lambda: calls.append(None))
    assert len(calls) == 3
    assert all(table.known(key) for key in keys)


@pytest.mark.parametrize(
    "key", [(), ("account",), ("code", ALICE), ("hash", -1), ("slot", ALICE), 7]
)
def test_what_is_no_key_is_rejected(key: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        RemoteTable(ignored).want([key])


def test_a_table_that_its_client_owns_is_collected() -> None:
    class Client:
        def __init__(self) -> None:
            self.table = RemoteTable(self.wake)

        def wake(self) -> None: ...

    client = Client()
    left = weakref.ref(client)
    client.table.want([("hash", 1)])
    del client
    gc.collect()
    assert left() is None
