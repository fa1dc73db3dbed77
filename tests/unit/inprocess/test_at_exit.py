"""What a program has started is stopped when it ends."""

from __future__ import annotations

import subprocess
import sys

from tests.support.polling import PATIENCE_SECONDS

PROGRAM = """
from concurrent.futures import ThreadPoolExecutor
from entresol.inprocess.at_exit import need_not_stop, stop_at_exit

class Started:
    def __init__(self, name):
        self.name = name
    def stop(self):
        with ThreadPoolExecutor() as pool:
            print(pool.submit(lambda: f"stopped {self.name}").result())

kept, stopped = Started("one"), Started("two")
stop_at_exit(kept.stop)
stop_at_exit(stopped.stop)
need_not_stop(stopped.stop)
print("ends")
"""


def test_it_is_stopped_while_thread_pools_still_work() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    assert (shown.stdout, shown.stderr) == ("ends\nstopped one\n", "")
