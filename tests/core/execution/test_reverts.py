"""Revert reasons."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import describe_revert, revert_reason
from entresol.errors import ExecutionHalted, ExecutionReverted
from entresol.execution.reverts import HARDHAT_PANICS, hardhat_text
from tests.support.hex_data import word

ERROR = bytes.fromhex("08c379a0")
PANIC = bytes.fromhex("4e487b71")
MAX_REASON_BYTES = 4_096
REVERTED = "VM Exception while processing transaction: reverted with"


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
    reasons = {code: revert_reason(PANIC + word(code)) or "" for code in range(256)}
    named = [code for code, reason in reasons.items() if "unknown" not in reason]
    assert named == [0x00, 0x01, 0x11, 0x12, 0x21, 0x22, 0x31, 0x32, 0x41, 0x51]


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


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert revert_reason(error(b"bad \xff\xfe byte")) == "bad \ufffd\ufffd byte"


def test_a_long_reason_is_cut() -> None:
    reason = revert_reason(error("x" * 1_000_000))
    assert reason == "x" * MAX_REASON_BYTES + "…"


@given(st.integers(0, 300), st.integers(0, 300), st.binary(max_size=200))
def test_no_offset_and_no_length_raise(offset: int, size: int, rest: bytes) -> None:
    reason = revert_reason(ERROR + word(offset) + word(size) + rest)
    assert reason is None or isinstance(reason, str)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", None),
        (error("no"), "no"),
        (encode(["string"], ["bare"]), "bare"),
        (error(""), f"custom error 0x08c379a0: {32:064x}{0:064x}"),
        (b"plain text", "plain text"),
        (b"\x12", "custom error bytes 0x12"),
        (bytes.fromhex("12345678"), "custom error 0x12345678"),
        (bytes.fromhex("12345678") + word(5), f"custom error 0x12345678: {5:064x}"),
    ],
)
def test_what_a_contract_reverts_with_is_described(data: bytes, text: str | None) -> None:
    assert describe_revert(data) == text


def test_the_description_of_a_custom_error_is_cut() -> None:
    text = describe_revert(bytes.fromhex("12345678") + bytes(3 * MAX_REASON_BYTES))
    assert text is not None
    assert text.endswith("00…")
    assert len(text) < 3 * MAX_REASON_BYTES


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "Transaction reverted without a reason string"),
        (error("no"), f"{REVERTED} reason string 'no'"),
        (PANIC + word(0x11), f"{REVERTED} panic code 0x11 ({HARDHAT_PANICS[0x11]})"),
        (b"\x12\x34\x56\x78", f"{REVERTED} an unrecognized custom error (return data: 0x12345678)"),
    ],
)
def test_hardhat_words_it_its_own_way(data: bytes, text: str) -> None:
    assert hardhat_text(ExecutionReverted(data)) == text
    assert hardhat_text(ExecutionHalted("out of gas")) == "Transaction ran out of gas"
