from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from typing import Any

import msgspec

from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.errors import ErrorObject
from entresol.terminal.formats import (
    BatchServed,
    JsonLogFormat,
    LogMessage,
    RejectionsSuppressed,
    RequestRejected,
    RequestServed,
    TransactionIncluded,
)

FORMAT = JsonLogFormat()
REJECTED = ErrorObject(-32602, "params[0]: no")


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


def test_a_batch_is_an_object() -> None:
    entry = read(FORMAT.batch(BatchServed(Counter({"a": 2}), 0.001, 0, None)))
    assert entry["fields"] == {"calls": 2, "methods": {"a": 2}, "ms": 1.0, "failed": 0}


def test_rejections_are_objects() -> None:
    entry = read(
        FORMAT.rejection(RequestRejected(413, "Request is too big", "127.0.0.1:4000", "L1"))
    )
    assert (entry["level"], entry["message"]) == ("info", "rejected")
    assert entry["fields"] == {
        "layer": "L1",
        "peer": "127.0.0.1:4000",
        "status": 413,
        "reason": "Request is too big",
    }
    more = read(FORMAT.suppressed(RejectionsSuppressed(7)))
    assert (more["message"], more["fields"]) == ("rejected more", {"requests": 7})


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


def test_a_message_has_its_stack_trace_in_one_line() -> None:
    entry = read(
        FORMAT.message(LogMessage("error", "it broke", "entresol.x", "Traceback\nValueError"))
    )
    assert (entry["level"], entry["message"]) == ("error", "it broke")
    assert entry["fields"] == {"source": "entresol.x", "trace": "Traceback\nValueError"}


def test_a_lone_surrogate_is_replaced() -> None:
    assert read(FORMAT.message(LogMessage("info", "\ud800", "x")))["message"] == "?"
