"""Coverage as a file of lcov, which editors and services read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from entresol.features.debugger.sources.coverage.coverage import FunctionCount, SourceCoverage


def lcov_of(files: Iterable[tuple[str, SourceCoverage]]) -> str:
    """Return the text of a file of lcov; each source has the path by which readers find it."""
    return "".join(f"{line}\n" for path, source in files for line in _record(path, source))


def _record(path: str, found: SourceCoverage) -> Iterator[str]:
    lines, _, branches, functions = found.shares
    yield "TN:"
    yield f"SF:{_in_one_line(path)}"
    names = _names(found.functions)
    for function, name in zip(found.functions, names, strict=True):
        yield f"FN:{function.line},{name}"
    for function, name in zip(found.functions, names, strict=True):
        yield f"FNDA:{function.times},{name}"
    yield f"FNF:{functions.total}"
    yield f"FNH:{functions.covered}"
    for number, branch in enumerate(found.branches):
        for way, count in enumerate(branch.ways):
            yield f"BRDA:{branch.line},{number},{way},{'-' if count is None else count}"
    yield f"BRF:{branches.total}"
    yield f"BRH:{branches.covered}"
    for line, count in found.lines.items():
        yield f"DA:{line},{count}"
    yield f"LF:{lines.total}"
    yield f"LH:{lines.covered}"
    yield "end_of_record"


def _names(functions: Sequence[FunctionCount]) -> list[str]:
    """Return names that are different, as readers need them: functions of the same name have their line, too."""
    count = Counter(function.name for function in functions)
    return [
        function.name if count[function.name] == 1 else f"{function.name}:{function.line}"
        for function in functions
    ]


def _in_one_line(path: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in path)
