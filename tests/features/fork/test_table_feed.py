"""What a table wants is collected, fetched and cached."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from entresol.errors import RemoteFailed, RemoteMalformed, RemoteUnreachable
from entresol.features.fork import remote_values, table_feed
from entresol.features.fork.remote_chain import RemoteChain, _closed
from entresol.features.fork.table_feed import remote_snapshot
from tests.support.fork.fake_remote import on_thread
from tests.support.fork.remote_node import ACCOUNT, HOLDER, RemoteNode, slots_of, wanted
from tests.support.polling import PATIENCE_SECONDS, eventually


def test_what_is_missed_at_the_same_time_is_one_request(
    node: RemoteNode, remote: RemoteChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Until the test says that the millisecond is over, however long its thread takes.
    monkeypatch.setattr(table_feed, "COLLECT_SECONDS", 3_600.0)
    (feed,) = remote._feeds
    for number in range(20):
        remote.table.want(slots_of([number]))
    remote.table.want([ACCOUNT])
    keys, known = [*slots_of(range(20)), ACCOUNT], threading.Event()
    remote.table.want(keys, known.set)
    assert remote._thread.soon(feed._take)
    assert known.wait(PATIENCE_SECONDS)
    assert remote.table.failure(keys) is None
    assert node.proxy.posts == 1


def test_a_key_that_failed_does_not_keep_what_the_remote_responded(
    node: RemoteNode, remote: RemoteChain
) -> None:
    """As it was: each of up to 10,000 errors that a table keeps had a body of megabytes in its frames."""
    node.proxy.not_served("eth_getProof")
    node.proxy.lies["eth_getStorageAt"] = lambda *_: "0x" + "11" * 100_000
    failure: BaseException | None = wanted(remote.table, slots_of([1]))
    assert type(failure) is RemoteMalformed
    while failure is not None:
        assert failure.__traceback__ is None
        failure = failure.__context__


def test_only_some_groups_of_keys_are_fetched_at_the_same_time(
    node: RemoteNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_feed, "MAX_TAKEN", 1)
    monkeypatch.setattr(table_feed, "MAX_FETCHES", 2)
    with node.fork() as remote:
        assert wanted(remote.table, slots_of([0])) is None
        node.proxy.most_in_flight, node.proxy.latency = 0, 0.02
        assert wanted(remote.table, slots_of(range(1, 9))) is None
        assert node.proxy.most_in_flight <= 2


def test_a_wait_ends_after_two_timeouts_of_silence_and_ten_in_all(node: RemoteNode) -> None:
    with node.fork(timeout=3.0) as remote:
        for table in (remote.table, remote.table_at(3)):
            assert (table.silence, table.total) == (6.0, 30.0)


def test_what_is_read_one_after_the_other_does_not_wait_for_more(
    remote: RemoteChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wanted(remote.table, slots_of([1])) is None
    monkeypatch.setattr(table_feed, "COLLECT_SECONDS", 3_600.0)
    assert wanted(remote.table, slots_of([2])) is None


def test_what_a_closed_fork_wants_fails_at_once(node: RemoteNode) -> None:
    with node.fork() as remote:
        table, earlier = remote.table, remote.table_at(3)
    for it in (table, earlier):
        assert isinstance(wanted(it, [ACCOUNT]), RemoteUnreachable)


def test_a_bug_in_a_read_fails_the_keys_and_is_logged(
    remote: RemoteChain, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_values, "balance", lambda _: 1 // 0)
    failure = wanted(remote.table, [ACCOUNT])
    assert type(failure) is RemoteFailed
    assert "ZeroDivisionError" in caplog.text


def test_a_fetch_that_is_cancelled_before_it_begins_leaves_nobody_waiting(
    remote: RemoteChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_feed, "COLLECT_SECONDS", 3_600.0)
    (feed,) = remote._feeds
    known = threading.Event()
    remote.table.want([ACCOUNT], known.set)

    def cancel() -> None:
        feed._take()
        for task in list(feed._fetches):
            task.cancel()

    assert remote._thread.soon(cancel)
    assert known.wait(PATIENCE_SECONDS)
    assert isinstance(remote.table.failure([ACCOUNT]), RemoteUnreachable)


def test_what_is_collected_while_the_fork_closes_leaves_nobody_waiting(
    remote: RemoteChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it was with `anvil_reset`: a task that began after all were cancelled never ran."""
    monkeypatch.setattr(table_feed, "COLLECT_SECONDS", 3_600.0)
    (feed,) = remote._feeds
    known = threading.Event()
    remote.table.want([ACCOUNT], known.set)

    async def last() -> None:
        feed._take()
        await _closed(remote._client, remote._cache)

    remote._thread.stop(last())
    assert known.wait(PATIENCE_SECONDS)
    failure = remote.table.failure([ACCOUNT])
    assert isinstance(failure, RemoteUnreachable)
    assert failure.host == remote.host


def test_a_table_is_fed_for_as_long_as_a_state_reads_it(remote: RemoteChain) -> None:
    """Also if nobody else has it any more, as the state of an earlier block that is in use while others take its place."""
    state = remote_snapshot(remote.table_at(3))
    remote._past.clear()
    gc.collect()
    assert len(remote._feeds) == 2
    assert on_thread(lambda: state.account(bytes(HOLDER))) is not None


def test_a_table_goes_with_its_last_user(remote: RemoteChain) -> None:
    """Without the garbage collector, which does not see how much memory it has."""
    table = remote.table_at(3)
    assert wanted(table, [ACCOUNT]) is None
    gone = weakref.ref(table)
    del table
    remote._past.clear()
    eventually(lambda: gone() is None)
    assert len(remote._feeds) == 1
