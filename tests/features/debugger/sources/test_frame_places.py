"""Which functions of a source were open in a frame."""

from __future__ import annotations

from entresol.execution.call_frames import CallFrame
from entresol.features.debugger.sources.compiled import CompiledCode, CompiledContract
from entresol.features.debugger.sources.frame_places import FramePlaces
from entresol.features.debugger.sources.source_file import SourceFile
from entresol.features.debugger.sources.steps import Step
from entresol.features.debugger.sources.walk import FrameWalk, OpenFunction
from entresol.primitives import abi

OUTER = b"function outer() public { inner(); }"
INNER = b"function inner() internal { revert(); }"
TEXT = b"contract A { %b %b }" % (OUTER, INNER)
ABI = b'[{"type":"function","name":"outer","inputs":[]}]'


def test_a_function_that_is_left_where_all_of_it_is_mapped_is_open_below_the_one_it_calls() -> None:
    outer, inner, end = TEXT.index(OUTER), TEXT.index(INNER), TEXT.index(b"revert")
    spans = f"{outer}:{len(OUTER)}:0:i;{inner}:{len(INNER)}:0:-;{end}:8:0:-"
    code = CompiledCode(bytes.fromhex("565bfd"), spans)
    contract = CompiledContract("A", "A.sol", ABI, None, code, [SourceFile("A.sol", TEXT)])
    account, call = "0x" + "11" * 20, "0x" + abi.selector("outer()").hex()
    walk = FrameWalk(CallFrame(type="CALL", sender=account, to=account, input=call), contract)
    walk.functions.append(OpenFunction(0, 1))
    walk.last.append(Step(2, "REVERT", 1))
    found = FramePlaces(walk, contract).open(is_call=False)
    assert [it.function for it in found] == ["outer", "inner"]
