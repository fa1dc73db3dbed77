"""The instructions of a code that tell how often the parts of its sources ran."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.features.debugger.sources.coverage.solidity import (
    CHECK,
    CONDITIONAL,
    DO,
    SELECTION,
    Range,
)
from entresol.features.debugger.sources.source_map import JUMP_IN, PositionMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from entresol.features.debugger.sources.compiled import CompiledCode
    from entresol.features.debugger.sources.coverage.solidity import BranchPart, SourceParts
    from entresol.features.debugger.sources.source_map import Span


class PartsIndex:
    """The parts of a source by their places; each part has a number, its place in the list of its kind."""

    def __init__(self, parts: SourceParts) -> None:
        self.parts = parts
        self._functions = [function.whole for function in parts.functions]
        self._statements = [statement.evaluated for statement in parts.statements]
        jumps = [
            (number, branch)
            for number, branch in enumerate(parts.branches)
            if branch.kind != SELECTION
        ]
        selections = [
            (n, branch) for n, branch in enumerate(parts.branches) if branch.kind == SELECTION
        ]
        self._wholes = {branch.whole: number for number, branch in jumps}
        self._conditions = {
            branch.condition: number
            for number, branch in jumps
            if branch.condition is not None and branch.condition not in self._wholes
        }
        self._selections = {branch.whole: number for number, branch in selections}
        self._arms = [
            (arm, number, place)
            for number, branch in selections
            for place, arm in enumerate(branch.arms)
            if arm is not None
        ]

    def function(self, span: Range) -> int | None:
        """Return the function that a span is in."""
        return _containing(self._functions, span)

    def statement(self, span: Range) -> int | None:
        """Return the statement that a span is evaluated in."""
        return _containing(self._statements, span)

    def branch(self, span: Range) -> int | None:
        """Return the branch that the jump of a span decides."""
        return self._wholes.get(span)

    def branch_of_condition(self, span: Range) -> int | None:
        """Return the branch whose condition a span is; code that was made by way of Yul has jumps there."""
        return self._conditions.get(span)

    def selection(self, span: Range) -> int | None:
        """Return the `try` that a span is all of."""
        return self._selections.get(span)

    def arms(self, span: Range) -> list[tuple[int, int]]:
        """Return the selections that a span is in, and in which clause of each."""
        return [(number, place) for arm, number, place in self._arms if arm.contains(*span)]


def _containing(ranges: Sequence[Range], span: Range) -> int | None:
    """Return which of some parts that do not overlap contains a span."""
    number = bisect_right(ranges, span.start, key=lambda it: it.start) - 1
    return number if number >= 0 and ranges[number].contains(*span) else None


JUMP: Final = 0x56
JUMPI: Final = 0x57
JUMPDEST: Final = 0x5B
PUSH0: Final = 0x5F
PUSH32: Final = 0x7F
FAILING: Final = frozenset((0xFD, 0xFE))
ENDING: Final = frozenset((0x00, JUMP, JUMPI, 0xF3, 0xFF, *FAILING))

STRAIGHT_STEPS: Final = 48
"""Instructions after a jump that are looked at to see where it leads."""

_TAKEN_IF_IT_HOLDS: Final = frozenset((CHECK, CONDITIONAL, DO))
"""Branches of which solc jumps if the condition holds, unless its optimizer has turned them."""


class Instruction(NamedTuple):
    """An instruction: its place, its opcode, what it pushes, and its part of the source."""

    pc: int
    opcode: int
    value: int | None
    source: int
    span: Range
    is_call: bool


class Jump(NamedTuple):
    """A conditional jump that decides a branch."""

    pc: int
    is_taken_first: bool
    """Whether it is taken for the first way of the branch."""


class SourcePlaces:
    """The instructions that count for the parts of one source; a part that is in the code several times has several."""

    def __init__(self) -> None:
        self.functions: dict[int, set[int]] = defaultdict(set)
        """The functions that have code, and where they are entered; nothing for those that are not entered by a jump."""
        self.wholes: dict[int, set[int]] = defaultdict(set)
        """Instructions that belong to all of a function."""
        self.first_statements: dict[int, int] = {}
        self.statements: dict[int, list[int]] = defaultdict(list)
        self.branches: dict[int, list[Jump]] = defaultdict(list)
        self.selections: dict[int, list[int]] = defaultdict(list)
        self.arms: dict[tuple[int, int], list[int]] = defaultdict(list)


class _Parts(NamedTuple):
    """The parts that a span belongs to."""

    places: SourcePlaces
    finder: PartsIndex
    function: int
    statement: int | None
    is_whole: bool
    arms: list[tuple[int, int]]


def places_of(
    compiled: CompiledCode, index_of: Callable[[int], PartsIndex | None]
) -> dict[int, SourcePlaces]:
    """Return the places of a code, by the numbers of its sources."""
    return _CodeReader(compiled, index_of).read()


class _CodeReader:
    """Reads the instructions of a code."""

    def __init__(
        self, compiled: CompiledCode, index_of: Callable[[int], PartsIndex | None]
    ) -> None:
        self._index_of = index_of
        self._all = _instructions(compiled)
        self._numbers = {instruction.pc: number for number, instruction in enumerate(self._all)}
        self._found: dict[int, SourcePlaces] = {}
        self._parts: dict[tuple[int, Range], _Parts | None] = {}
        self._pushed: set[object] = set()
        """Parts of which only instructions that push where to jump were found."""
        self._latest: dict[object, object] = {}
        """The key under which each part was found last."""
        self._previous: set[object] = set()
        """The parts of the instruction before."""

    def read(self) -> dict[int, SourcePlaces]:
        """Return the places of all parts."""
        entries = self._entries()
        seen: set[object] = set()
        owner, run = None, 0
        for number, instruction in enumerate(self._all):
            parts = self._parts_of(instruction)
            if parts is None:
                self._previous = set()
                continue
            # What the compiler has put at several places, as modifiers, is interrupted by another function.
            if owner != (instruction.source, parts.function):
                owner, run = (instruction.source, parts.function), run + 1
            self._place(instruction, parts, seen, run, is_entry=instruction.pc in entries)
            if instruction.opcode == JUMPI:
                self._decide(number, instruction, parts, seen, run)
        self._decide_by_conditions()
        return self._found

    def _parts_of(self, it: Instruction) -> _Parts | None:
        key = it.source, it.span
        if key not in self._parts:
            self._parts[key] = self._find(it)
        return self._parts[key]

    def _find(self, it: Instruction) -> _Parts | None:
        index = self._index_of(it.source)
        function = None if index is None else index.function(it.span)
        if index is None or function is None:
            return None
        places = self._found.setdefault(it.source, SourcePlaces())
        part = index.parts.functions[function]
        return _Parts(
            places,
            index,
            function,
            index.statement(it.span),
            it.span == part.whole,
            index.arms(it.span),
        )

    def _place(
        self, it: Instruction, parts: _Parts, seen: set[object], run: int, *, is_entry: bool
    ) -> None:
        places = parts.places
        entries = places.functions[parts.function]
        if parts.is_whole:
            places.wholes[parts.function].add(it.pc)
            if is_entry and it.opcode == JUMPDEST:
                entries.add(it.pc)
        firsts: list[tuple[object, list[int]]] = []
        if parts.statement is not None:
            first = places.first_statements.get(parts.function, parts.statement)
            places.first_statements[parts.function] = min(first, parts.statement)
            firsts.append((parts.statement, places.statements[parts.statement]))
        firsts += [((it.source, arm), places.arms[arm]) for arm in parts.arms]
        keys: set[object] = {(it.source, part, run) for part, _ in firsts}
        for part, found in firsts:
            key = it.source, part, run
            is_new = key not in seen
            earlier = self._latest.get((it.source, part))
            # By way of Yul, addresses to return to are pushed before what comes first.
            if earlier in self._pushed and (is_new or key not in self._previous):
                found[-1] = it.pc
            elif is_new:
                found.append(it.pc)
            if is_new:
                seen.add(key)
                self._pushed.add(key)
                self._latest[it.source, part] = key
        if not self._pushes_target(it):
            self._pushed -= keys
        self._previous = keys

    def _pushes_target(self, it: Instruction) -> bool:
        number = None if it.value is None else self._numbers.get(it.value)
        return number is not None and self._all[number].opcode == JUMPDEST

    def _decide(
        self, number: int, it: Instruction, parts: _Parts, seen: set[object], run: int
    ) -> None:
        branch = parts.finder.branch(it.span)
        if branch is not None:
            jump = self._jump(number, parts.finder.parts.branches[branch])
            parts.places.branches[branch].append(jump)
        selection = parts.finder.selection(it.span)
        if selection is not None and (it.source, "selection", selection, run) not in seen:
            seen.add((it.source, "selection", selection, run))
            parts.places.selections[selection].append(it.pc)

    def _decide_by_conditions(self) -> None:
        """Find branches that are decided where their conditions are."""
        decided = {number: set(places.branches) for number, places in self._found.items()}
        for number, instruction in enumerate(self._all):
            parts = self._parts_of(instruction) if instruction.opcode == JUMPI else None
            branch = None if parts is None else parts.finder.branch_of_condition(instruction.span)
            if (
                parts is not None
                and branch is not None
                and branch not in decided[instruction.source]
            ):
                jump = self._jump(number, parts.finder.parts.branches[branch])
                parts.places.branches[branch].append(jump)

    def _jump(self, number: int, branch: BranchPart) -> Jump:
        """Return a jump with what it is taken for: what is reached in a straight line, or else as solc does it."""
        it = self._all[number]
        target = None if not number else self._all[number - 1].value
        jumped = self._numbers.get(-1 if target is None else target)
        for place, arm in enumerate(branch.arms):
            if arm is None:
                continue
            is_next = self._leads(number + 1, it.source, arm)
            is_jumped = jumped is not None and self._leads(jumped, it.source, arm)
            if is_next != is_jumped:
                return Jump(it.pc, is_jumped == (place == 0))
        if branch.kind == CHECK and jumped is not None:
            fails = self._fails(number + 1), self._fails(jumped)
            if fails[0] != fails[1]:
                return Jump(it.pc, fails[0])
        return Jump(it.pc, branch.kind in _TAKEN_IF_IT_HOLDS)

    def _leads(self, number: int, source: int, arm: Range) -> bool:
        for instruction in self._all[number : number + STRAIGHT_STEPS]:
            if instruction.source == source and arm.contains(*instruction.span):
                return True
            if instruction.opcode in ENDING:
                return False
        return False

    def _fails(self, number: int) -> bool:
        for instruction in self._all[number : number + STRAIGHT_STEPS]:
            if instruction.opcode in ENDING:
                return instruction.opcode in FAILING
        return False

    def _entries(self) -> set[int]:
        """Return where jumps into functions lead, as far as the instruction before says it."""
        return {
            before.value
            for before, after in zip(self._all, self._all[1:], strict=False)
            if after.is_call and after.opcode == JUMP and before.value is not None
        }


def _instructions(compiled: CompiledCode) -> list[Instruction]:
    code, found = compiled.code, []
    for pc, span, jump in _mapped(compiled):
        opcode = code[pc]
        size = opcode - PUSH0 if PUSH0 <= opcode <= PUSH32 else None
        value = None if size is None else int.from_bytes(code[pc + 1 : pc + 1 + size])
        place = Range(span.start, span.end)
        found.append(Instruction(pc, opcode, value, span.source, place, jump == JUMP_IN))
    return found


def _mapped(compiled: CompiledCode) -> Iterable[tuple[int, Span, str]]:
    """Return the instructions with their spans and kinds of jumps; none of Vyper's."""
    found = compiled.source_map
    return () if isinstance(found, PositionMap) else found.instructions()
