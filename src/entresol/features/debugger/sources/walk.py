"""Follow an execution step by step: which frames and functions were open, and where, when it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from entresol.features.debugger.sources.source_map import PositionMap
from entresol.features.debugger.sources.steps import StepsTooLong
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.values import Address, Data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from entresol.execution.call_frames import CallFrame
    from entresol.features.debugger.sources.compiled import CompiledCode, CompiledContract
    from entresol.features.debugger.sources.registry import SourceRegistry
    from entresol.features.debugger.sources.steps import Step

_AnyStep = TypeVar("_AnyStep", bound="Step")

CREATIONS: Final = frozenset(("CREATE", "CREATE2"))
CALLS: Final = frozenset(("CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"))
MAX_FUNCTIONS: Final = 256
"""Functions of a frame that may be open; of deeper recursion the outermost are known."""

MAX_TARGETS: Final = 512

LAST_STEPS: Final = 64
"""Steps of a frame that are kept, to see what led to its end."""

BOOTLOADER_TEXT: Final = str(BOOTLOADER)
"""The outermost frame of a transaction from a contract account, whose steps the engine itself runs."""

_NEVER_RAN: Final = ("insufficient balance", "max call depth", "nonce", "collision")
_DELEGATION: Final = b"\xef\x01\x00"
_DELEGATED_SIZE: Final = 23


class OpenFunction(NamedTuple):
    """A function that was entered: where it was called, and where it begins."""

    call: int
    entry: int


class FrameWalk:
    """The facts known of one call frame: its contract, and how far it came."""

    def __init__(self, frame: CallFrame, contract: CompiledContract | None) -> None:
        self.frame = frame
        self.contract = contract
        self.is_creation = frame.type in CREATIONS
        self.functions: list[OpenFunction] = []
        self.last: list[Step] = []
        """The last steps, and up to as many before them."""
        self.child: FrameWalk | None = None
        """The last inner frame that had steps."""
        self.call_functions: list[OpenFunction] = []
        """The functions that were open at the last call."""
        self.call_last: list[Step] = []
        """The last steps up to the last call."""
        self.targets: dict[int, None] = {}
        """The first jump destinations outside of functions, among them the entry of the called one."""
        self._too_deep = 0
        self._entering: int | None = None
        self._inner = iter(frame.calls)
        code = self.code
        self._is_vyper = code is not None and isinstance(code.source_map, PositionMap)

    @property
    def code(self) -> CompiledCode | None:
        """The code that ran."""
        if self.contract is None:
            return None
        return self.contract.creation if self.is_creation else self.contract.deployed

    @property
    def data(self) -> bytes:
        """The call data, or the code that creates a contract with its arguments."""
        return bytes(Data.parse(self.frame.input))

    @property
    def call_pc(self) -> int | None:
        """Where in the code its last call is."""
        return self.call_last[-1].pc if self.call_last else None

    def step(self, step: Step) -> None:
        """Follow one step of the frame."""
        if self._entering is not None:
            self._enter(OpenFunction(self._entering, step.pc))
            self._entering = None
        self.last.append(step)
        if len(self.last) > 2 * LAST_STEPS:
            del self.last[:LAST_STEPS]
        if step.op == "JUMP":
            self._jump(step.pc)
        elif step.op == "JUMPDEST":
            self._arrive(step.pc)
        elif step.op in CALLS or step.op in CREATIONS:
            self.call_functions, self.call_last = list(self.functions), self.last[-LAST_STEPS:]

    def forget_steps(self) -> None:
        """Forget the steps, because they do not reach to the end of the frame."""
        for steps in (self.functions, self.call_functions, self.last, self.call_last):
            steps.clear()

    def _enter(self, function: OpenFunction) -> None:
        if len(self.functions) < MAX_FUNCTIONS:
            self.functions.append(function)
        else:
            self._too_deep += 1

    def _arrive(self, pc: int) -> None:
        if self.functions and pc == self.functions[-1].call + 1 and self._is_vyper:
            # Its map does not say which jumps leave a function.
            self.functions.pop()
        if not self.functions and len(self.targets) < MAX_TARGETS:
            self.targets[pc] = None

    def _jump(self, pc: int) -> None:
        code = self.code
        kind = "-" if code is None else code.source_map.jump(pc)
        if kind == "i":
            self._entering = pc
        elif kind == "o":
            if self._too_deep:
                self._too_deep -= 1
            elif self.functions:
                self.functions.pop()

    @property
    def inner_frames(self) -> Iterator[CallFrame]:
        """The inner frames that were not entered yet."""
        return self._inner


class CreatedCodes:
    """The codes of created contracts by their accounts, while an execution is followed."""

    def __init__(self) -> None:
        self._codes: dict[str, bytes | None] = {}
        self._undo: list[tuple[str, bytes | None]] = []
        self._marks: list[int] = []

    def get(self, account: str) -> bytes | None:
        """Return the code of an account; None if the execution has not created it."""
        return self._codes.get(account)

    def enter(self) -> None:
        """Enter a frame."""
        self._marks.append(len(self._undo))

    def leave(self, frame: CallFrame, *, is_creation: bool) -> None:
        """Leave the innermost frame; a contract has code once its creation has ended, and none if a frame has failed."""
        mark = self._marks.pop()
        if frame.error is not None:
            for account, before in reversed(self._undo[mark:]):
                self._codes[account] = before
            del self._undo[mark:]
        elif is_creation and frame.to is not None:
            self._undo.append((frame.to, self._codes.get(frame.to)))
            self._codes[frame.to] = bytes(Data.parse(frame.output))


class Walker:
    """Follows an execution, and returns its outermost frame with the inner ones that matter."""

    def __init__(self, sources: SourceRegistry, code_of: Callable[[Address], bytes]) -> None:
        self._sources = sources
        self._code_of = code_of
        self._created = CreatedCodes()

    def walk(self, outermost: CallFrame, steps: Iterable[Step]) -> FrameWalk:
        """Return the walk of the outermost frame."""
        root = FrameWalk(outermost, self.contract_of(outermost))
        stack: list[FrameWalk] = [root]
        try:
            for _ in self.follow(stack, steps):
                pass
        except StepsTooLong:
            for walk in stack:
                walk.forget_steps()
        return root

    def follow(self, stack: list[FrameWalk], steps: Iterable[_AnyStep]) -> Iterator[_AnyStep]:
        """Yield each step once `stack`, which has the outermost frame, has those that are open at it."""
        has_steps_of_its_own = stack[0].frame.to != BOOTLOADER_TEXT
        for step in steps:
            level = step.depth - 1
            if level == 1 and step.pc == 0 and not has_steps_of_its_own:
                # The steps of a transaction from a contract account follow each other, with nothing between them.
                self._leave(stack, 1)
            self._leave(stack, max(level + 1, 1))
            if level > len(stack):
                raise StepsTooLong
            if level == len(stack):
                inner = self._entered(stack[-1])
                if inner is None:
                    raise StepsTooLong
                stack[-1].child = inner
                stack.append(inner)
                self._created.enter()
            stack[-1].step(step)
            yield step

    def contract_of(self, frame: CallFrame) -> CompiledContract | None:
        """Return the contract whose code a frame runs, if its source is known."""
        if frame.type in CREATIONS:
            return self._sources.find(bytes(Data.parse(frame.input)), is_creation=True)
        return self._sources.find(self.code(frame))

    def code(self, frame: CallFrame) -> bytes:
        """Return the code that a frame runs, unless it creates a contract."""
        if frame.to is None:
            return b""
        code = self.code_of(Address.parse(frame.to))
        if code.startswith(_DELEGATION) and len(code) == _DELEGATED_SIZE:
            return self._code_of(Address(code[len(_DELEGATION) :]))
        return code

    def code_of(self, account: Address) -> bytes:
        """Return the code of an account, which the execution may have created."""
        created = self._created.get(str(account))
        return self._code_of(account) if created is None else created

    def _leave(self, stack: list[FrameWalk], height: int) -> None:
        while len(stack) > height:
            left = stack.pop()
            self._created.leave(left.frame, is_creation=left.is_creation)

    def _entered(self, outer: FrameWalk) -> FrameWalk | None:
        """Return the walk of the next inner frame that has code, and so has steps."""
        for frame in outer.inner_frames:
            error = frame.error or ""
            if not any(reason in error for reason in _NEVER_RAN) and self._runs_code(frame):
                return FrameWalk(frame, self.contract_of(frame))
        return None

    def _runs_code(self, frame: CallFrame) -> bool:
        if frame.type in CREATIONS:
            return frame.input != "0x"
        return frame.type in CALLS and bool(self.code(frame))
