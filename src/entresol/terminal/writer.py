"""Write lines to the terminal without blocking the event loop on a slow reader."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from entresol.counted import counted

OUT: Final = 1
ERR: Final = 2
COLLECT_SECONDS: Final = 0.01
"""How long lines are collected before they are written at once."""

MAX_BACKLOG: Final = 10_000
"""Lines that may be pending for a reader that is slower than the node."""

MAX_BACKLOG_BYTES: Final = 16 << 20
CLOSE_SECONDS: Final = 0.3


FormatText: TypeAlias = "Callable[[], str | None]"
"""Returns a text, or None if there is nothing to write; it may be called on another thread."""


class LineWriter(Protocol):
    """Where lines of a log go."""

    def write(self, text: str, *, to_stderr: bool = False) -> None:
        """Write `text` and a line break."""

    def write_later(self, format_text: FormatText, size: int) -> None:
        """Write what `format_text` returns, of about `size` characters, and a line break, in turn."""

    def close(self) -> None:
        """Write what is pending."""


class TerminalWriter:
    """Writes lines in order, from a thread of its own.

    A stopped terminal, or a pipe that is not read, would block the event loop in the middle of a write.
    Here it blocks the thread; further lines are queued, and those beyond the backlog are dropped and counted. The
    thread also formats what takes longer than a line, which nobody has to wait for.

    Remembers: lines that are not written yet. Assumes: nothing about the reader. Fails: never; once the reader has
    closed its end, nothing more is written.
    """

    def __init__(self, out: int = OUT, err: int = ERR, *, backlog: int = MAX_BACKLOG) -> None:
        self._out = out
        self._err = err
        self._backlog = backlog
        self._pending: deque[tuple[int, str | FormatText]] = deque()
        self._size = 0
        """Characters of the pending lines; an estimate, because several threads write."""
        self._dropped = 0
        self._due = threading.Event()
        self._is_due = False
        """Whether `_due` is set; cheaper to read."""
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="terminal", daemon=True)
        self._thread.start()

    def write(self, text: str, *, to_stderr: bool = False) -> None:
        """Queue `text` and a line break."""
        self._queue(self._err if to_stderr else self._out, text, len(text))

    def write_later(self, format_text: FormatText, size: int) -> None:
        """Queue what `format_text` returns when it is written, and a line break."""
        self._queue(self._out, format_text, size)

    def _queue(self, stream: int, text: str | FormatText, size: int) -> None:
        if len(self._pending) >= self._backlog or self._size > MAX_BACKLOG_BYTES:
            self._dropped += 1
            return
        self._pending.append((stream, text))
        self._size += size
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
            self._write_all(self._out, f"({counted(dropped, 'line')} dropped, not read in time)\n")

    def _chunk(self) -> tuple[int, str]:
        """Take the lines at the front that go to the same stream."""
        stream, text = self._pending.popleft()
        lines = [_formatted(text)]
        while self._pending and self._pending[0][0] == stream:
            lines.append(_formatted(self._pending.popleft()[1]))
        self._size = 0 if not self._pending else self._size
        return stream, "".join(f"{line}\n" for line in lines if line is not None)

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


def _formatted(text: str | FormatText) -> str | None:
    if isinstance(text, str):
        return text
    try:
        return text()
    except Exception as error:  # noqa: BLE001  # further lines must be written
        return f"(a line is missing: {type(error).__name__}: {error})"
