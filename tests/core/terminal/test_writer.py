from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from entresol.terminal.writer import TerminalWriter


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def test_what_is_formatted_later_is_written_in_turn(pipe: tuple[int, int]) -> None:
    def fails() -> str:
        raise ValueError("no text")

    console = TerminalWriter(pipe[1], pipe[1])
    console.write("first")
    console.write_later(lambda: "second", 6)
    console.write_later(lambda: None, 0)
    console.write_later(fails, 0)
    console.write("last")
    console.close()
    expected = b"first\nsecond\n(a line is missing: ValueError: no text)\nlast\n"
    assert os.read(pipe[0], 1000) == expected


def test_problems_go_to_stderr(pipe: tuple[int, int]) -> None:
    reading, writing = os.pipe()
    console = TerminalWriter(pipe[1], writing)
    console.write("work")
    console.write("problem", to_stderr=True)
    console.close()
    assert (os.read(pipe[0], 1000), os.read(reading, 1000)) == (b"work\n", b"problem\n")
    os.close(reading)
    os.close(writing)


def test_a_reader_that_does_not_read_blocks_no_writer(pipe: tuple[int, int]) -> None:
    console = TerminalWriter(pipe[1], pipe[1], backlog=5)
    # More than a pipe holds, so that the thread blocks in the middle of the write.
    console.write("x" * (1 << 20))
    assert os.read(pipe[0], 1) == b"x"
    for number in range(8):
        console.write(f"line {number}")
    read = b""
    while not read.endswith(b"in time)\n"):
        read += os.read(pipe[0], 1 << 20)
    console.close()
    assert read.splitlines()[1:] == [
        *(b"line %d" % number for number in range(5)),
        b"(3 lines dropped, not read in time)",
    ]


def test_a_non_blocking_stream_gets_everything(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    console = TerminalWriter(pipe[1], pipe[1])
    text = "x" * (1 << 20)
    console.write(text)
    read = b""
    while len(read) <= len(text):
        read += os.read(pipe[0], 1 << 20)
    console.close()
    assert read == text.encode() + b"\n"
