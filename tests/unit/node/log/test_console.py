"""Writing lines that somebody may or may not read."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from entresol.node.log.console import Console


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def test_lines_come_out_in_order(pipe: tuple[int, int]) -> None:
    console = Console(pipe[1], pipe[1])
    for number in range(3):
        console.tell(f"line {number}")
    console.close()
    assert os.read(pipe[0], 1000) == b"line 0\nline 1\nline 2\n"


def test_troubles_go_where_errors_go(pipe: tuple[int, int]) -> None:
    reading, writing = os.pipe()
    console = Console(pipe[1], writing)
    console.tell("work")
    console.tell("trouble", trouble=True)
    console.close()
    assert (os.read(pipe[0], 1000), os.read(reading, 1000)) == (b"work\n", b"trouble\n")
    os.close(reading)
    os.close(writing)


def test_a_reader_who_does_not_read_stops_nobody(pipe: tuple[int, int]) -> None:
    console = Console(pipe[1], pipe[1], backlog=5)
    # More than a pipe holds, so that the writing stops in the middle of it.
    console.tell("x" * (1 << 20))
    assert os.read(pipe[0], 1) == b"x"
    for number in range(8):
        console.tell(f"line {number}")
    read = b""
    while not read.endswith(b"in time)\n"):
        read += os.read(pipe[0], 1 << 20)
    console.close()
    assert read.splitlines()[1:] == [
        *(b"line %d" % number for number in range(5)),
        b"(3 lines are lost: nobody read them in time)",
    ]


def test_a_stream_that_rejects_to_wait_loses_nothing(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    console = Console(pipe[1], pipe[1])
    text = "x" * (1 << 20)
    console.tell(text)
    read = b""
    while len(read) <= len(text):
        read += os.read(pipe[0], 1 << 20)
    console.close()
    assert read == text.encode() + b"\n"


def test_a_reader_who_is_gone_is_told_nothing_more() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    console = Console(writing, writing)
    console.tell("is anybody there?")
    console.close()
    console.tell("nobody")
    os.close(writing)


def test_half_a_character_is_no_reason_to_fall_silent(pipe: tuple[int, int]) -> None:
    console = Console(pipe[1], pipe[1])
    console.tell("\ud800")
    console.close()
    assert os.read(pipe[0], 1000) == b"?\n"
