"""Lines of the log."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from typing import Any

import msgspec
import pytest

from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.errors import ErrorObject
from entresol.terminal.formats import (
    BatchServed,
    JsonLogFormat,
    RequestRejected,
    RequestServed,
    TextLogFormat,
    TransactionIncluded,
    printable,
)

TEXT = TextLogFormat(colours=False)
MISSING = ErrorObject(-32601, "the method x does not exist/is not available")


FORMAT = JsonLogFormat()
REJECTED = ErrorObject(-32602, "params[0]: no")


def words(line: str) -> str:
    return " ".join(line.split())


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (None, "eth_call 1.50 ms ok"),
        (MISSING, f"eth_call 1.50 ms error -32601: {MISSING.message}"),
        (
            ErrorObject(-32700, "Parse error", "not UTF-8"),
            "eth_call 1.50 ms error -32700: Parse error (not UTF-8)",
        ),
        (
            ErrorObject(3, "execution reverted: no", "0x08c379a0"),
            "eth_call 1.50 ms error 3: execution reverted: no",
        ),
    ],
)
def test_a_request_is_a_line(failure: ErrorObject | None, line: str) -> None:
    assert words(TEXT.request(RequestServed("eth_call", 0.0015, failure))) == line


@pytest.mark.parametrize(
    ("methods", "failed", "line"),
    [
        ({"a": 2, "b": 1}, 0, "batch of 3: 2 a, b 1.00 ms ok"),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, 0, "batch of 4: a, b, c, … 1.00 ms ok"),
        ({"a": 2}, 1, "batch of 2: 2 a 1.00 ms 1 of 2 failed, first: error -32601: "),
        ({}, 0, "batch 1.00 ms ok"),
        (
            {"zks_getL1BatchBlockRange": 3, "eth_getTransactionReceipt": 1},
            0,
            "batch of 4: 3 zks_getL1BatchBlockRange, … 1.00 ms ok",
        ),
        ({"x" * 90: 2}, 0, f"batch of 2: 2 {'x' * 29}… 1.00 ms ok"),
    ],
)
def test_a_batch_is_one_line(methods: dict[str, int], failed: int, line: str) -> None:
    entry = BatchServed(Counter(methods), 0.001, failed, MISSING if failed else None)
    assert words(TEXT.batch(entry)).startswith(line.strip())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ünïcode too", "plain text, ünïcode too"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("two\nlines", "two\\nlines"),
        ("\u202eright to left", "\\u202eright to left"),
        ("x" * 400, "x" * 300 + "…"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_rejection_is_a_line_with_the_reason_in_the_column_of_results() -> None:
    line = TEXT.rejection(RequestRejected(405, "use POST", "127.0.0.1:4000"))
    assert words(line) == "(rejected) 127.0.0.1:4000 405: use POST"
    assert line.index("405") == TEXT.request(RequestServed("eth_call", 0.0015, None)).index("ok")


def read(line: str) -> dict[str, Any]:
    assert "\n" not in line
    entry: dict[str, Any] = json.loads(line)
    assert list(entry) == ["level", "time", "message", "fields"]
    assert datetime.fromisoformat(entry["time"]).tzinfo is not None
    return entry


def test_a_request_is_an_object() -> None:
    entry = read(FORMAT.request(RequestServed("eth_call", 0.0015, REJECTED)))
    assert (entry["level"], entry["message"]) == ("info", "request")
    assert entry["fields"] == {
        "method": "eth_call",
        "ms": 1.5,
        "error": {"code": -32602, "message": "params[0]: no"},
    }


def test_a_transaction_is_an_object() -> None:
    included = TransactionIncluded(
        hash=Hash32(b"\x11" * 32),
        sender=Address(b"\x22" * 20),
        to=None,
        created=Address(b"\x33" * 20),
        gas_used=53_000,
        block=7,
        block_hash=Hash32(b"\x44" * 32),
        timestamp=1_700_000_000,
        succeeded=True,
        failure=None,
    )
    fields = read(FORMAT.transaction(included))["fields"]
    assert (fields["created"], fields["to"], fields["gasUsed"]) == ("0x" + "33" * 20, None, 53_000)
    failed = msgspec.structs.replace(included, succeeded=False, failure="execution reverted")
    fields = read(FORMAT.transaction(failed))["fields"]
    assert (fields["succeeded"], fields["failure"]) == (False, "execution reverted")
    assert "created" not in fields
