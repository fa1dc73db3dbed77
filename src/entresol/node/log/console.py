"""Writing lines without ever waiting for whoever reads them."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import Final

OUT: Final = 1
ERR: Final = 2

COLLECT_SECONDS: Final = 0.01
"""How long lines are collected before they are written in one piece."""

BACKLOG: Final = 10_000
"""Lines that may wait for a reader who is slower than the node."""

CLOSE_SECONDS: Final = 0.3


class Console:
    """Writes lines in order, from a thread of its own.

    A terminal that is held, or a pipe that nobody reads, would stop the event loop in the middle of a write.
    Here it stops the thread; further lines wait, and beyond the backlog they are counted in place of kept.

    Remembers: lines that are not written yet. Persists: nothing. Assumes: nothing of who reads.
    Fails: never; when the reader is gone, nothing more is written.
    """

    def __init__(self, out: int = OUT, err: int = ERR, *, backlog: int = BACKLOG) -> None:
        self._out = out
        self._err = err
        self._backlog = backlog
        self._waiting: deque[tuple[int, str]] = deque()
        self._lost = 0
        self._due = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="console", daemon=True)
        self._thread.start()

    def tell(self, text: str, *, trouble: bool = False) -> None:
        """Write `text` and the end of its line soon; troubles go where errors go."""
        if len(self._waiting) >= self._backlog:
            self._lost += 1
            return
        self._waiting.append((self._err if trouble else self._out, text))
        # Looking is cheaper than setting what is set.
        if not self._due.is_set():
            self._due.set()

    def close(self) -> None:
        """Write what waits, if it is read in time, and end."""
        self._closing = True
        self._due.set()
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        try:
            while not self._closing:
                self._due.wait()
                if not self._closing:
                    time.sleep(COLLECT_SECONDS)
                self._due.clear()
                self._drain()
            self._drain()
        except OSError:
            # Nobody is left to tell.
            self._backlog = 0
            self._waiting.clear()

    def _drain(self) -> None:
        while self._waiting:
            self._write(*self._piece())
        if self._lost:
            lost, self._lost = self._lost, 0
            self._write(self._out, f"({lost:,} lines are lost: nobody read them in time)\n")

    def _piece(self) -> tuple[int, str]:
        """Take the lines at the front that go to one place."""
        place, text = self._waiting.popleft()
        lines = [text]
        while self._waiting and self._waiting[0][0] == place:
            lines.append(self._waiting.popleft()[1])
        return place, "\n".join((*lines, ""))

    @staticmethod
    def _write(place: int, text: str) -> None:
        # Not through sys.stdout: a thread stuck in it would keep the interpreter from ending.
        data = text.encode(errors="replace")
        while data:
            try:
                data = data[os.write(place, data) :]
            except BlockingIOError:
                # Another process that shares the terminal made it so.
                time.sleep(COLLECT_SECONDS)
