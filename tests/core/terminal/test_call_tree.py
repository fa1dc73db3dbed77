"""Call trees with names."""

from __future__ import annotations

import pytest

from entresol._native import keccak256
from entresol.contracts.abi_registry import AbiRegistry
from entresol.execution.call_frames import CallFrame, FrameLog
from entresol.primitives import abi
from entresol.terminal.call_tree import CallTree, describe_error

ONE, TWO = "0x" + "11" * 20, "0x" + "22" * 20
ABIS = AbiRegistry.of(
    [
        [
            {"name": "set", "inputs": [{"type": "uint256"}], "outputs": [{"type": "bool"}]},
            {"type": "event", "name": "Set", "inputs": [{"type": "uint256", "name": "to"}]},
            {"type": "error", "name": "Bad", "inputs": []},
        ]
    ]
)
SET = "0x" + abi.encode_call("set(uint256)", 7).hex()
TRUE = "0x" + "00" * 31 + "01"
TOPIC = "0x" + keccak256(b"Set(uint256)").hex()
TREE = CallTree(ABIS)


def frame(kind: str = "CALL", **fields: object) -> CallFrame:
    return CallFrame(**{"type": kind, "sender": ONE, "to": TWO, "gas_used": "0x5", **fields})  # type: ignore[arg-type]


def test_calls_and_events_are_drawn_in_order() -> None:
    event = FrameLog(ONE, [TOPIC], TRUE, "0x1")
    inner = [
        frame("STATICCALL", input=SET, output=TRUE),
        frame("DELEGATECALL", input="0x01020304ff"),
    ]
    assert TREE.draw(frame(input=SET, value="0x9", calls=inner, logs=[event])) == [
        f"[5] {TWO}::set{{value: 9}}(7)",
        f"  ├─ [5] {TWO}::set(7) [staticcall]",
        "  │   └─ ← [Return] true",
        "  ├─ emit Set(to: 1)",
        f"  ├─ [5] {TWO}::01020304(ff) [delegatecall]",
        "  │   └─ ← [Stop]",
        "  └─ ← [Stop]",
    ]


@pytest.mark.parametrize(
    ("root", "first", "last"),
    [
        (frame("CREATE", output="0x0102"), f"[5] → new {TWO}", "← [Return] 2 bytes of code"),
        (frame(input="0x"), f"[5] {TWO}::fallback()", "← [Stop]"),
        (frame(input="0x01"), f"[5] {TWO}::fallback(0x01)", "← [Stop]"),
        (frame(input="0x", output="0x05"), f"[5] {TWO}::fallback()", "← [Return] 0x05"),
        (frame(error="out of gas"), f"[5] {TWO}::fallback()", "← [out of gas]"),
        (
            frame(error="execution reverted", output="0x" + abi.selector("Bad()").hex()),
            f"[5] {TWO}::fallback()",
            "← [Revert] Bad()",
        ),
        (
            frame(error="execution reverted"),
            f"[5] {TWO}::fallback()",
            "← [Revert] EvmError: Revert",
        ),
        (frame("SELFDESTRUCT", value="0x1"), f"[5] {ONE}::selfdestruct → {TWO}", "← [Stop]"),
    ],
)
def test_a_frame_has_a_title_and_an_end(root: CallFrame, first: str, last: str) -> None:
    assert TREE.draw(root) == [first, f"  └─ {last}"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", None),
        (abi.encode_call("Error(string)", "boom"), "boom"),
        (abi.encode_call("Panic(uint256)", 0x11), "panic: arithmetic underflow or overflow (0x11)"),
        (abi.encode_call("Bad()"), "Bad()"),
        (bytes.fromhex("12345678"), "custom error 0x12345678"),
    ],
)
def test_a_revert_is_described(data: bytes, text: str | None) -> None:
    assert describe_error(ABIS, data) == text
