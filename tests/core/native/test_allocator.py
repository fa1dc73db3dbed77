"""Memory of large blocks that were freed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from pathlib import Path
from entresol._native import return_large_blocks

if sys.argv[1] == "set" and not return_large_blocks():
    sys.exit()
# From now on glibc takes blocks up to this size from its heaps.
bytes(20 << 20)
blocks, pins = [], []
for _ in range(8):
    blocks.append(b"1" * (8 << 20))
    # After a block that is freed, it keeps the heap from shrinking.
    pins.append(bytearray(50_000))
blocks.clear()
(line,) = (it for it in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in it)
print(int(line.split()[1]) >> 10)
"""


def resident(setting: str) -> int:
    """Return the resident mebibytes of a process that has freed 64."""
    command = [sys.executable, "-c", SCRIPT, setting]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return int(printed) if printed else pytest.skip("not the allocator of glibc")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs procfs")
def test_large_blocks_are_returned_to_the_system_once_they_are_freed() -> None:
    assert resident("set") < resident("unset") - 32
