"""Call frames as values."""

from __future__ import annotations

import json

from entresol.execution.call_frames import CALL_FRAMES, decode_call_frame
from entresol.execution.tracing import SealedBlock, TraceBudget, TraceLimits, trace_transaction
from tests.support.chain.dev_chain import BOB
from tests.support.chain.traced_chain import INNER, OUTER, traced_chain


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
