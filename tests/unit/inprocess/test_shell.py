"""What contracts of a devnet have printed."""

from __future__ import annotations

from entresol.execution.console import ConsoleCalls
from entresol.inprocess.shell import MAX_BYTES, MAX_RECORDED, ConsoleRecorder
from entresol.primitives import abi


def printing(text: str) -> ConsoleCalls:
    return ConsoleCalls((abi.selector("log(string)") + abi.encode("(string)", (text,)),), 0)


def test_what_was_printed_since_a_position_is_returned() -> None:
    recorder = ConsoleRecorder()
    recorder.record("L2", "eth_call", printing("before"))
    position = recorder.total
    recorder.record("L2", "eth_estimateGas", printing("one\ntwo"))
    recorder.record("L1", "transaction", printing("three"))
    assert recorder.since(position) == [
        "[L2 eth_estimateGas] one",
        "[L2 eth_estimateGas] two",
        "[L1 transaction] three",
    ]
    assert recorder.since(recorder.total) == []
    assert len(recorder.since(0)) == 4


def test_old_calls_are_dropped() -> None:
    recorder = ConsoleRecorder()
    for number in range(MAX_RECORDED + 5):
        recorder.record("L2", "eth_call", printing(str(number)))
    assert len(recorder.since(0)) == MAX_RECORDED
    assert recorder.since(recorder.total - 1) == [f"[L2 eth_call] {MAX_RECORDED + 4}"]
    recorder.record("L2", "eth_call", printing("x" * (MAX_BYTES - 1_000)))
    assert len(recorder.since(0)) < 20
