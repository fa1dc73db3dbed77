"""Files that a flag names are read up to a limit."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Thread

import pytest

from entresol.bounded_file import read_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_a_file_beyond_the_limit_is_named_with_it(file: Path) -> None:
    file.write_bytes(b"x" * 4_097)
    with pytest.raises(OSError, match="it has more than 4,096 bytes") as failed:
        read_file(file, 4_096)
    assert failed.value.filename == str(file)


def test_a_large_file_is_rejected_before_it_is_read(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(1 << 45)
    with pytest.raises(OSError, match="it has more than"):
        read_file(file, 1 << 20)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such device")
def test_a_device_without_an_end_is_read_up_to_the_limit() -> None:
    with pytest.raises(OSError, match="it has more than 5,000,000 bytes"):
        read_file(Path("/dev/zero"), 5_000_000)


def test_a_pipe_is_read(file: Path) -> None:
    os.mkfifo(file)
    writer = Thread(target=file.write_bytes, args=(b"y" * 100_000,))
    writer.start()
    assert read_file(file, 100_000) == b"y" * 100_000
    writer.join()
