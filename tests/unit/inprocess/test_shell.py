"""What contracts of a devnet have printed."""

from __future__ import annotations

from entresol.execution.console import ConsoleCalls
from entresol.inprocess.shell import ConsoleRecorder
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
