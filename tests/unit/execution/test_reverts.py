"""Revert reasons."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

from entresol.execution.reverts import MAX_REASON_BYTES, PANICS, revert_reason
from tests.support.hex_data import word

ERROR = bytes.fromhex("08c379a0")
PANIC = bytes.fromhex("4e487b71")


def error(text: str | bytes) -> bytes:
    content = text.encode() if isinstance(text, str) else text
    return ERROR + encode(["bytes"], [content])


@given(st.text(max_size=200))
def test_the_string_of_an_error_is_the_reason(text: str) -> None:
    assert revert_reason(error(text)) == text


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (0x01, "panic: assertion failed (0x01)"),
        (0x11, "panic: arithmetic underflow or overflow (0x11)"),
        (0x12, "panic: division or modulo by zero (0x12)"),
        (0x32, "panic: array out-of-bounds access (0x32)"),
        (0x99, "panic: unknown code (0x99)"),
        (2**255, f"panic: unknown code ({2**255:#x})"),
    ],
)
def test_a_panic_is_named(code: int, reason: str) -> None:
    assert revert_reason(PANIC + word(code)) == reason


def test_every_panic_of_the_compiler_has_a_name() -> None:
    assert sorted(PANICS) == [0x00, 0x01, 0x11, 0x12, 0x21, 0x22, 0x31, 0x32, 0x41, 0x51]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x08",
        ERROR,
        ERROR + bytes(31),
        ERROR + word(32),
        ERROR + word(32) + word(1),
        ERROR + word(2**256 - 1) + word(1) + word(0),
        ERROR + word(32) + word(2**256 - 1) + word(0),
        ERROR + word(33) + word(1),
        PANIC,
        PANIC + bytes(31),
        bytes.fromhex("deadbeef") + word(1),
        bytes(64),
    ],
)
def test_what_cannot_be_read_has_no_reason(data: bytes) -> None:
    assert revert_reason(data) is None


def test_an_error_may_keep_its_string_anywhere() -> None:
    data = ERROR + word(64) + word(0) + word(5) + b"there".ljust(32, b"\x00")
    assert revert_reason(data) == "there"


def test_a_string_need_not_be_padded() -> None:
    assert revert_reason(ERROR + word(32) + word(5) + b"there") == "there"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert revert_reason(error(b"bad \xff\xfe byte")) == "bad \ufffd\ufffd byte"


def test_a_long_reason_is_cut() -> None:
    reason = revert_reason(error("x" * 1_000_000))
    assert reason == "x" * MAX_REASON_BYTES + "…"


@given(st.sampled_from([ERROR, PANIC, b""]), st.binary(max_size=200))
def test_no_data_raises(selector: bytes, rest: bytes) -> None:
    reason = revert_reason(selector + rest)
    assert reason is None or isinstance(reason, str)


@given(st.integers(0, 300), st.integers(0, 300), st.binary(max_size=200))
def test_no_offset_and_no_length_raise(offset: int, size: int, rest: bytes) -> None:
    reason = revert_reason(ERROR + word(offset) + word(size) + rest)
    assert reason is None or isinstance(reason, str)
