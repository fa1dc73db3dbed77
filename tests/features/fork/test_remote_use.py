"""What a fork has asked of its remote, and what waits for it."""

from __future__ import annotations

import pytest

from entresol.features.fork import remote_use
from entresol.features.fork.remote_chain import RemoteChain
from entresol.features.fork.remote_use import MAX_READS, RemoteUse
from tests.support.fork import faults
from tests.support.fork.remote_node import (
    ACCOUNT,
    CONTRACT,
    HOLDER,
    RemoteNode,
    slot_of,
    slots_of,
    wanted,
)
from tests.support.polling import eventually


def test_what_comes_from_the_remote_is_a_miss_and_listed(remote: RemoteChain) -> None:
    before = remote.use
    assert wanted(remote.table, [ACCOUNT, *slots_of([1, 2])]) is None
    use = remote.use
    assert (use.missed - before.missed, use.cached - before.cached) == (3, 0)
    assert use.requests > before.requests
    slots = ["/".join((f"0x{CONTRACT.hex()}", f"0x{slot_of(it).hex()}")) for it in (1, 2)]
    found = [
        (last_read.what, last_read.which, last_read.is_kept) for last_read in remote.last_reads
    ]
    assert ("account", f"0x{HOLDER.hex()}", True) in found
    assert all(("slot", slot, True) in found for slot in slots)


def test_a_remote_that_is_away_is_unreachable_until_it_responds(node: RemoteNode) -> None:
    with node.fork(retries=0) as remote:
        assert remote.use.is_reachable is True
        node.proxy.fault = faults.status(502)
        assert wanted(remote.table, [ACCOUNT]) is not None
        use = remote.use
        assert use.is_reachable is False
        assert use.unreachable_seconds >= 0
        assert use.retries == {"no_response": 1}
        assert use.errors == {"remote_unreachable": 1}
        assert [(last_read.what, last_read.is_kept) for last_read in remote.last_reads][:1] == [
            ("account", False)
        ]
        node.proxy.fault = None
        assert wanted(remote.table, [ACCOUNT]) is None
        assert (remote.use.is_reachable, remote.use.unreachable_seconds) == (True, 0.0)


def test_the_list_of_reads_is_bounded_and_the_newest_is_first() -> None:
    use = RemoteUse()
    use.read(("slot", str(number), 32) for number in range(10_000))
    reads = use.reads()
    assert (len(reads), reads[0].which) == (MAX_READS, "9999")
    assert use.report().kept == 10_000


def test_a_remote_that_does_not_respond_is_away_since_the_first_time() -> None:
    now = [100.0]
    use = RemoteUse(lambda: now[0])
    assert use.report().is_reachable is None
    for _ in range(3):
        use.retried("no_response")
        now[0] += 5
    assert use.report().unreachable_seconds == 15
    use.responded()
    assert use.report().unreachable_seconds == 0


def test_what_waits_is_visible_and_logged_once(
    node: RemoteNode, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with node.fork() as remote:
        # Not before: on a busy machine what the start asks for would be slow, too.
        monkeypatch.setattr(remote_use, "SLOW_SECONDS", 0.05)
        assert remote.waiting.requests == 0
        node.proxy.fault = faults.stalled
        remote.table.want([ACCOUNT])
        eventually(lambda: "is slow" in caplog.text)
        report = remote.waiting
        assert (report.requests, report.host) == (1, node.proxy.url)
        assert "eth_getBalance" in report.method
        assert report.seconds > 0
    assert caplog.text.count("is slow") == 1
