"""Call frames as values."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from entresol.execution.call_frames import CALL_FRAMES, decode_call_frame, decode_nested
from entresol.execution.tracing import SealedBlock, TraceBudget, TraceLimits, trace_transaction
from tests.support.chain.api_client import INNER, OUTER, traced_chain
from tests.support.chain.dev_chain import BOB


def test_a_transaction_has_a_tree_of_frames() -> None:
    with traced_chain() as chain:
        ledger = chain.client.chain.ledger
        record, parent = ledger.record(1), ledger.header(0)
        block = SealedBlock(record, parent, ledger.rules.evm_rules(), ledger.state_after(0))
        ran = trace_transaction(block, 0, CALL_FRAMES, TraceBudget(TraceLimits()))
    frame = decode_call_frame(ran.trace or b"")
    assert (frame.type, frame.to, frame.error) == ("CALL", str(OUTER), None)
    assert [(inner.to, inner.value) for inner in frame.calls] == [
        (str(INNER), "0x0"), (str(BOB), "0x1"),
    ]  # fmt: skip
    assert int(frame.gas_used, 16) == record.results[0].gas_used


def test_frames_may_be_nested_deeper_than_pythons_stack() -> None:
    depth = 3_000
    opened = json.dumps({"type": "CALL", "from": "0x1"})[:-1] + ', "calls": ['
    frame = decode_call_frame((opened * depth + "]}" * depth).encode())
    for _ in range(depth - 1):
        (frame,) = frame.calls
    assert frame.calls == []


scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def same(members: dict[str, Any]) -> dict[str, Any]:
    return members


@given(values, st.sampled_from([None, 1]), st.booleans())
def test_it_reads_what_other_readers_read(value: object, indent: int | None, ascii_: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_)
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        encoded = json.dumps(value).encode()
    assert decode_nested(encoded, same) == json.loads(encoded)


def test_objects_become_what_they_are_made_into() -> None:
    assert decode_nested(b'{"b":{"a":1},"c":[{}]}', len) == 2
