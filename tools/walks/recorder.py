"""Records the calls between functions of the package in one process, while a signal says so."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

FOLDER: Final = "ENTRESOL_WALKS_FOLDER"
"""The variable with the folder that a process writes its calls to."""
PACKAGE: Final = f"{os.sep}src{os.sep}entresol{os.sep}"
NATIVE: Final = "native"
"""What stands for the crate, in place of a file."""

Function: TypeAlias = tuple[str, str]
"""A file below the package, and the qualified name of a function in it."""


class Recorder:
    """Counts calls from one function of the package to another, and to the crate and back.

    Calls of other packages in between are skipped, so that a call through a library counts as one of its caller.
    What an event loop calls has no caller. Calls of a type of the crate and reads of its attributes are not seen,
    because Python does not report them.
    Remembers: the calls since `start`, and which native calls of a thread are running. Persists: nothing.
    """

    def __init__(self) -> None:
        self._calls: Counter[tuple[Function | None, Function]] = Counter()
        self._functions: dict[CodeType, Function | None] = {}
        self._running_native = threading.local()
        self.is_recording = False

    def start(self) -> None:
        """Forget what was recorded, and record from now on."""
        self._calls.clear()
        self.is_recording = True

    def stop(self) -> list[tuple[Function | None, Function, int]]:
        """Stop recording, and return the calls with how often each happened."""
        self.is_recording = False
        return [(caller, callee, times) for (caller, callee), times in self._calls.items()]

    def on_event(self, frame: FrameType, event: str, called: Any) -> None:
        """Take an event of `sys.setprofile`."""
        if not self.is_recording:
            return
        if event == "call":
            self._on_call(frame)
        elif event != "return" and _is_native(called):
            self._on_native(frame, event, called)

    def _on_call(self, frame: FrameType) -> None:
        callee = self._function(frame)
        if callee is None:
            return
        native = self._native()
        if native and frame.f_back is native[-1]:
            self._calls[(NATIVE, ""), callee] += 1
            return
        self._calls[self._caller(frame.f_back), callee] += 1

    def _on_native(self, frame: FrameType, event: str, called: Any) -> None:
        native = self._native()
        if event == "c_call":
            self._calls[self._caller(frame), (NATIVE, called.__qualname__)] += 1
            native.append(frame)
        elif native:
            native.pop()

    def _native(self) -> list[FrameType]:
        running: list[FrameType] | None = getattr(self._running_native, "frames", None)
        if running is None:
            running = self._running_native.frames = []
        return running

    def _caller(self, frame: FrameType | None) -> Function | None:
        while frame is not None:
            found = self._function(frame)
            if found is not None:
                return found
            frame = frame.f_back
        return None

    def _function(self, frame: FrameType) -> Function | None:
        code = frame.f_code
        try:
            return self._functions[code]
        except KeyError:
            _, found, file = code.co_filename.partition(PACKAGE)
            function = (file, code.co_qualname) if found else None
            self._functions[code] = function
            return function


def record_by_signal() -> None:
    """Start and stop recording by SIGUSR2 in turns; each stop writes a file into the folder of the variable."""
    recorder = Recorder()
    folder = Path(os.environ[FOLDER])

    def turn(*_: object) -> None:
        if not recorder.is_recording:
            recorder.start()
            (folder / f"{os.getpid()}.recording").touch()
            return
        calls = recorder.stop()
        written = folder / f"{os.getpid()}.json"
        written.with_suffix(".part").write_text(json.dumps(calls))
        written.with_suffix(".part").rename(written)

    signal.signal(signal.SIGUSR2, turn)
    threading.setprofile(recorder.on_event)
    sys.setprofile(recorder.on_event)


def _is_native(called: Any) -> bool:
    """Return whether a built-in function is one of the crate."""
    owner = getattr(called, "__self__", None)
    if owner is None or isinstance(owner, type(sys)):
        return getattr(called, "__module__", None) == "entresol._native"
    return type(owner).__module__ == "entresol._native"
