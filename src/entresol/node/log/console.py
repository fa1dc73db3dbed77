"""Write lines to the terminal without blocking the event loop on a slow reader."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import Final, Protocol

OUT: Final = 1
ERR: Final = 2

COLLECT_SECONDS: Final = 0.01
"""How long lines are collected before they are written at once."""

MAX_BACKLOG: Final = 10_000
"""Lines that may be pending for a reader that is slower than the node."""

MAX_BACKLOG_BYTES: Final = 16 << 20

CLOSE_SECONDS: Final = 0.3


class LineWriter(Protocol):
    """Where lines of a log go."""

    def write(self, text: str, *, to_stderr: bool = False) -> None:
        """Write `text` and a line break."""

    def close(self) -> None:
        """Write what is pending."""


class Console:
    """Writes lines in order, from a thread of its own.

    A stopped terminal, or a pipe that is not read, would block the event loop in the middle of a write.
    Here it blocks the thread; further lines are queued, and those beyond the backlog are dropped and counted.

    Remembers: lines that are not written yet. Persists: nothing. Assumes: nothing about the reader.
    Fails: never; once the reader has closed its end, nothing more is written.
    """

    def __init__(self, out: int = OUT, err: int = ERR, *, backlog: int = MAX_BACKLOG) -> None:
        self._out = out
        self._err = err
        self._backlog = backlog
        self._pending: deque[tuple[int, str]] = deque()
        self._size = 0
        """Characters of the pending lines; an estimate, because several threads write."""
        self._dropped = 0
        self._due = threading.Event()
        self._is_due = False
        """Whether `_due` is set; cheaper to read."""
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="console", daemon=True)
        self._thread.start()

    def write(self, text: str, *, to_stderr: bool = False) -> None:
        """Queue `text` and a line break."""
        if len(self._pending) >= self._backlog or self._size > MAX_BACKLOG_BYTES:
            self._dropped += 1
            return
        self._pending.append((self._err if to_stderr else self._out, text))
        self._size += len(text)
        if not self._is_due:
            self._is_due = True
            self._due.set()

    def close(self) -> None:
        """Write pending lines, as far as they are read in time, and end the thread."""
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
                # After the event: a line that is queued in between is drained, and the next one sets it again.
                self._is_due = False
                self._drain()
            self._drain()
        except OSError:
            # The reader has closed its end.
            self._backlog = 0
            self._pending.clear()

    def _drain(self) -> None:
        while self._pending:
            self._write_all(*self._chunk())
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._write_all(self._out, f"({dropped:,} lines dropped: they were not read in time)\n")

    def _chunk(self) -> tuple[int, str]:
        """Take the lines at the front that go to the same stream."""
        stream, text = self._pending.popleft()
        lines = [text]
        while self._pending and self._pending[0][0] == stream:
            lines.append(self._pending.popleft()[1])
        self._size = 0 if not self._pending else self._size
        return stream, "\n".join((*lines, ""))

    @staticmethod
    def _write_all(stream: int, text: str) -> None:
        # Not through sys.stdout: a thread blocked in it would keep the interpreter from exiting.
        data = text.encode(errors="replace")
        while data:
            try:
                data = data[os.write(stream, data) :]
            except BlockingIOError:
                # Another process that shares the terminal made it non-blocking.
                time.sleep(COLLECT_SECONDS)
