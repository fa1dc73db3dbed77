"""Frames of WebSockets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from entresol.server.websocket import FrameSplitter

opcodes = st.sampled_from([Opcode.TEXT, Opcode.BINARY, Opcode.CONT, Opcode.PING, Opcode.PONG])
sizes = st.one_of(st.integers(0, 130), st.sampled_from([65_535, 65_536, 70_000]))


def frame(opcode: Opcode, size: int, *, fin: bool = True) -> bytes:
    return Frame(opcode, b"x" * size, fin=fin).serialize(mask=True)


@given(st.lists(st.tuples(opcodes, sizes), max_size=6), st.data())
def test_pieces_join_to_what_was_received_and_none_has_two_frames(
    kinds: list[tuple[Opcode, int]], data: st.DataObject
) -> None:
    frames = [frame(opcode, min(size, 125) if opcode >= 8 else size) for opcode, size in kinds]
    received = b"".join(frames)
    ends = {sum(map(len, frames[: n + 1])) for n in range(len(frames))}
    cuts = sorted(data.draw(st.sets(st.integers(0, len(received)), max_size=8)))
    splitter, at = FrameSplitter(), 0
    for start, end in zip([0, *cuts], [*cuts, len(received)], strict=True):
        splitter.receive(received[start:end])
        while piece := splitter.next_piece():
            assert received[at : at + len(piece)] == piece
            assert not any(at < boundary < at + len(piece) for boundary in ends)
            at += len(piece)
        assert not splitter.has_frame
    assert at == len(received)


@pytest.mark.parametrize(
    ("opcode", "size", "fin", "small"),
    [
        (Opcode.TEXT, 0, True, True),
        (Opcode.TEXT, 1, True, False),
        (Opcode.TEXT, 63, False, True),
        (Opcode.TEXT, 64, False, False),
        (Opcode.CONT, 63, True, True),
        (Opcode.CONT, 200, False, False),
        (Opcode.PING, 125, True, True),
        (Opcode.PONG, 0, True, True),
        (Opcode.CLOSE, 2, True, True),
    ],
)
def test_control_frames_empty_frames_and_small_fragments_are_small(
    opcode: Opcode, size: int, fin: bool, small: bool
) -> None:
    splitter = FrameSplitter()
    splitter.receive(frame(opcode, size, fin=fin) + frame(Opcode.BINARY, 5))
    splitter.next_piece()
    assert splitter.is_small is small
    splitter.next_piece()
    assert not splitter.is_small


def test_what_is_no_whole_message_is_left_to_the_library() -> None:
    whole = frame(Opcode.TEXT, 20)
    compressed = bytes([whole[0] | 0x40]) + whole[1:]
    unmasked = Frame(Opcode.TEXT, b"x").serialize(mask=False)
    for received in (
        whole[:10],
        frame(Opcode.TEXT, 20, fin=False),
        frame(Opcode.CONT, 20),
        frame(Opcode.PING, 20),
        compressed,
        unmasked,
    ):
        splitter = FrameSplitter()
        splitter.receive(received)
        assert splitter.message(splitter.next_piece()) is None
    splitter = FrameSplitter()
    splitter.receive(whole[:10])
    splitter.next_piece()
    splitter.receive(whole[10:])
    assert splitter.message(splitter.next_piece()) is None
