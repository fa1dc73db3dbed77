"""What misses a value of a remote begins again once it is there, and fails with what the remote fails with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import get_ident

import pytest

from entresol import state_missing
from entresol._native import Snapshot
from entresol.errors import RemoteUnreachable, RemoteWaitOver
from entresol.state_missing import retried, waited
from tests.support.chain.dev_chain import ALICE, BOB, GENESIS, LOGGER, RULES, balance
from tests.support.fork.fake_remote import FakeRemote, LocalRows
from tests.support.fork.running_fork import open_fork, remote_of, running_api

UNREACHABLE = RemoteUnreachable("http://127.0.0.1:1", "eth_getBalance", "refused")


class Fork:
    """A fork and its remote; `wealth` reads two accounts, and counts how often it was called."""

    def __init__(self, remote: FakeRemote) -> None:
        self.remote = remote
        self.chain = open_fork(remote, RULES)
        self.threads: list[int] = []

    def wealth(self) -> int:
        """Return what two accounts have."""
        self.threads.append(get_ident())
        return balance(self.chain, ALICE) + balance(self.chain, BOB)


@pytest.fixture
def fork() -> Iterator[Fork]:
    """Return a fork with nothing of its remote in memory."""
    with remote_of(GENESIS) as remote:
        opened = Fork(remote)
        yield opened
        opened.chain.close()


def test_short_work_is_called_again_on_the_event_loop_for_each_value(fork: Fork) -> None:
    """Two accounts are missing, one after the other."""
    assert asyncio.run(retried(fork.wealth)) == 200 * 10**18
    assert fork.threads == [get_ident()] * 3


def test_a_value_that_never_comes_is_waited_for_only_so_long(
    fork: Fork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_missing, "WAIT_SECONDS", 0.01)
    with fork.remote.held(), pytest.raises(RemoteWaitOver, match="http://there did not respond"):
        asyncio.run(retried(fork.wealth))


def test_work_that_begins_again_and_again_waits_only_so_long_in_all() -> None:
    """However quickly each value comes."""
    with FakeRemote(silence=10.0, total=0.2) as remote:
        remote.latency = 0.02
        snapshot, numbers = Snapshot(LocalRows(remote.table)), iter(range(1_000))
        with pytest.raises(RemoteWaitOver, match=r"in 0\.2 seconds: the slot .* did not come"):
            asyncio.run(retried(lambda: snapshot.slot(ALICE, next(numbers).to_bytes(32))))
        assert next(numbers) < 100


def test_other_work_goes_on_on_a_thread_that_waits(fork: Fork) -> None:
    """It is called twice, however many values are missing."""
    assert asyncio.run(waited(fork.wealth)) == 200 * 10**18
    first, second = fork.threads
    assert first == get_ident() != second


def test_what_the_remote_fails_with_is_raised_and_not_remembered(fork: Fork) -> None:
    """The next call asks again."""
    fork.remote.failure = UNREACHABLE
    for call in (retried, waited):
        with pytest.raises(RemoteUnreachable):
            asyncio.run(call(fork.wealth))
    fork.remote.failure = None
    assert asyncio.run(retried(fork.wealth)) == 200 * 10**18


def test_waiting_takes_nothing_of_the_time_of_a_call(fork: Fork) -> None:
    """Each of the calls waits for longer than all of them may take."""
    fork.remote.latency = 0.15
    calls = [{"to": f"0x{it.hex()}"} for it in (ALICE, BOB, LOGGER)]
    with running_api(fork.chain) as client:
        bundle = [{"transactions": [call]} for call in calls]
        results = client("eth_callMany", bundle, {"blockNumber": "latest"}, None, 100)
    assert results == [[{"value": "0x"}]] * 3
