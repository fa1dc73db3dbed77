"""The process of a worker, as its producer sees it."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any, cast

from entresol.features.workers.worker_process import WorkerProcess, WorkerStart
from tests.support.polling import eventually


def test_whether_a_signal_has_stopped_a_worker_is_known_before_it_serves() -> None:
    start = WorkerStart(index=0, config=cast("Any", None), layers=(), l1_chain_id=None)
    worker = WorkerProcess(start, cast("Any", None))

    def is_stopped() -> bool:
        return worker.is_stopped

    assert not is_stopped()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        worker._process = process
        assert not is_stopped()
        process.send_signal(signal.SIGSTOP)
        eventually(is_stopped)
        # Asking changes nothing.
        assert is_stopped()
        process.send_signal(signal.SIGCONT)
        eventually(lambda: not is_stopped())
        process.kill()
        process.wait()
        assert not is_stopped()
