"""Load on a server by wrk: its rate of responses, and their latency."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

import msgspec

CONNECTIONS: Final = 16
ROUND_SECONDS: Final = 1
MISSING: Final = "wrk not found, which puts the load on servers. On Debian and Ubuntu: apt install wrk; on macOS: brew install wrk"

# The loader and the server have a core each, so that neither takes time from the other.
LOADER_CORE, SERVER_CORE = 0, 1

_MARK: Final = "RESULT "
_SCRIPT: Final = """
local ffi = require("ffi")
ffi.cdef("typedef struct { long seconds, nanoseconds; } moment; int clock_gettime(int, moment *);")
local bodies, at, moment = {}, 0, ffi.new("moment")
local function now()
    ffi.C.clock_gettime(1, moment)
    return tonumber(moment.seconds) * 1e6 + tonumber(moment.nanoseconds) / 1e3
end
function setup(thread)
    only = thread
end
function init()
    for line in io.lines("BODIES") do
        bodies[#bodies + 1] = wrk.format("POST", "/", {["content-type"] = "application/json"}, line)
    end
    started, ended = 0, 0
end
function request()
    if at == 0 then started = now() end
    if at == #bodies then
        ended = now()
        if ONCE then wrk.thread:stop() else at = 0 end
    end
    at = math.min(at, #bodies - 1) + 1
    return bodies[at]
end
function done(summary, latency, requests)
    local ended, started, duration = only:get("ended"), only:get("started"), summary.duration
    if ONCE and ended > 0 then duration = ended - started end
    io.write(string.format(
        'RESULT {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"errors":%d}\\n',
        summary.requests, duration, latency:percentile(50), latency:percentile(99),
        summary.errors.status + summary.errors.connect + summary.errors.read
            + summary.errors.write + summary.errors.timeout))
end
"""


class Sample(msgspec.Struct, frozen=True):
    """What one round of load came to; latencies and the server's time for a request in microseconds."""

    requests: int
    microseconds: int
    p50: float
    p99: float
    errors: int
    cpu: float = 0

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.microseconds * 1e6

    @property
    def details(self) -> str:
        """The latencies and the time, for a table."""
        latencies = f"p50 {self.p50 / 1e3:.2f}, p99 {self.p99 / 1e3:.2f} ms"
        return f"{latencies}, CPU {self.cpu:.0f} µs"

    @classmethod
    def least(cls, samples: Sequence[Self]) -> Self:
        """Return the sample that took least processor time: whatever disturbs a round only adds to it."""
        return min(samples, key=lambda it: it.cpu)

    @classmethod
    def median(cls, samples: Sequence[Self]) -> Sample:
        """Return the sample in the middle, with the medians of the others' details."""
        middle = sorted(samples, key=lambda it: it.rate)[len(samples) // 2]
        medians = {
            name: statistics.median(getattr(sample, name) for sample in samples)
            for name in ("p50", "p99", "cpu")
        }
        return msgspec.structs.replace(middle, **medians)


class Load:
    """Requests that are sent in turn, as fast as a server responds; with `once` a round ends with the last one."""

    def __init__(self, directory: Path, bodies: Sequence[bytes], *, once: bool = False) -> None:
        self._script = directory / "load.lua"
        path = directory / "bodies"
        path.write_bytes(b"\n".join(bodies))
        script = _SCRIPT.replace("BODIES", str(path)).replace("ONCE", str(once).lower())
        self._script.write_text(script, encoding="utf-8")

    def put_on(self, url: str) -> Sample:
        """Send requests for a round."""
        command = [
            find_wrk(), "--threads", "1", "--connections", str(CONNECTIONS),
            "--duration", f"{ROUND_SECONDS}s", "--script", str(self._script), url,
        ]  # fmt: skip
        with pinned(LOADER_CORE):
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        line = next(line for line in output.splitlines() if line.startswith(_MARK))
        sample = msgspec.json.decode(line.removeprefix(_MARK), type=Sample)
        assert not sample.errors, output
        return sample


@contextmanager
def load(bodies: Sequence[bytes], *, once: bool = False) -> Iterator[Load]:
    """Make a load of `bodies`, each of which is one line."""
    with tempfile.TemporaryDirectory(prefix="entresol-bench-") as directory:
        yield Load(Path(directory), bodies, once=once)


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """Let what is started meanwhile run on one core, where there is a choice."""
    if not hasattr(os, "sched_setaffinity") or core not in os.sched_getaffinity(0):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def find_wrk() -> str:
    """Return the path of wrk, or say how to get it."""
    found = shutil.which("wrk")
    if found is None:
        raise FileNotFoundError(MISSING)
    return found
