"""What waits for the remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from entresol.fork.transport import waiting
from tests.support.fork import faults
from tests.support.fork.remote_node import (
    ACCOUNT,
    RemoteNode,
)
from tests.support.polling import eventually

if TYPE_CHECKING:
    pass


def test_what_waits_is_visible_and_logged_once(
    node: RemoteNode, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with node.fork() as remote:
        # Not before: on a busy machine what the start asks for would be slow, too.
        monkeypatch.setattr(waiting, "SLOW_SECONDS", 0.05)
        assert remote.waiting.requests == 0
        node.proxy.fault = faults.stalled
        remote.table.want([ACCOUNT])
        eventually(lambda: "is slow" in caplog.text)
        report = remote.waiting
        assert (report.requests, report.host) == (1, node.proxy.url)
        assert "eth_getBalance" in report.method
        assert report.seconds > 0
    assert caplog.text.count("is slow") == 1
