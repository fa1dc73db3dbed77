"""The modules of the Rust crates, what each uses of the others, and the circles among them.

`python -m tools.crate_modules` lists the circles. A module is a file; what only tests use does not count. A name that a
module passes on (`pub use`) counts as its own, so a child that takes a sibling's name from the parent uses the parent.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

NATIVE: Final = Path(__file__).parents[1] / "native"

Module: TypeAlias = tuple[str, ...]
"""The name of a crate and the modules below it: `("entresol_core", "evm", "env")`."""
Graph: TypeAlias = dict[Module, set[Module]]

# A lifetime has no closing quote, so it is no character.
_NO_CODE: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^'\\])'""",
    re.DOTALL,
)
_TEST_ONLY: Final = re.compile(r"#\[cfg\(test\)\]")
_INLINE_MODULE: Final = re.compile(r"\bmod\s+(\w+)\s*(?=\{)")
_CHILD: Final = re.compile(r"\bmod\s+(\w+)\s*;")
_USE: Final = re.compile(r"\buse\s+([^;]+);")
_PATH: Final = re.compile(r"(?<![\w:.])\w+(?:::\w+)+")
_CLOSING: Final = {"{": "}", "(": ")", "[": "]"}


def graph_of(folder: Path) -> Graph:
    """Return what each module of the crates below a folder uses."""
    sources = {
        module: path for crate, root in _crates(folder) for module, path in _files((crate,), root)
    }
    return {
        module: {used for used in _used(module, path, sources) if used != module}
        for module, path in sources.items()
    }


def circles(graph: Mapping[Module, set[Module]]) -> list[list[Module]]:
    """Return the sets of modules that use each other, directly or through others (Tarjan's components)."""
    index: dict[Module, int] = {}
    low: dict[Module, int] = {}
    path: list[Module] = []
    found: list[list[Module]] = []

    def visit(module: Module) -> None:
        index[module] = low[module] = len(index)
        path.append(module)
        for used in sorted(graph[module]):
            if used not in index:
                visit(used)
                low[module] = min(low[module], low[used])
            elif used in path:
                low[module] = min(low[module], index[used])
        if low[module] == index[module]:
            start = path.index(module)
            component = path[start:]
            del path[start:]
            if len(component) > 1:
                found.append(sorted(component))

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return found


def written(module: Module) -> str:
    """Return the path of a module as Rust writes it."""
    return "::".join(module)


def _crates(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and root file of each crate."""
    for manifest in sorted([folder / "Cargo.toml", *folder.glob("*/Cargo.toml")]):
        root = manifest.parent / "src" / "lib.rs"
        if root.exists():
            document = tomllib.loads(manifest.read_text(encoding="utf-8"))
            name = document.get("lib", {}).get("name", document["package"]["name"])
            yield name.replace("-", "_"), root


def _files(module: Module, path: Path) -> Iterator[tuple[Module, Path]]:
    """Yield a module and those below it that are not only for tests."""
    yield module, path
    folder = path.parent if path.stem in {"lib", "mod"} else path.with_suffix("")
    for name in _CHILD.findall(_code(path)):
        places = (folder / f"{name}.rs", folder / name / "mod.rs")
        yield from _files((*module, name), next(place for place in places if place.exists()))


def _code(path: Path) -> str:
    """Return a source without comments, texts and what is only for tests."""
    code = _NO_CODE.sub(" ", path.read_text(encoding="utf-8"))
    while found := _TEST_ONLY.search(code):
        code = code[: found.start()] + code[_end_of_item(code, found.end()) :]
    return code


def _end_of_item(code: str, start: int) -> int:
    """Return where an item ends: after its semicolon, or after its block."""
    position = start
    while code[position] != ";":
        if code[position] in _CLOSING:
            is_block = code[position] == "{"
            position = _end_of_block(code, position)
            if is_block:
                return position
        else:
            position += 1
    return position + 1


def _end_of_block(code: str, start: int) -> int:
    """Return the position after the bracket that closes the one at `start`."""
    opening, closing = code[start], _CLOSING[code[start]]
    depth = 0
    for position in range(start, len(code)):
        depth += (code[position] == opening) - (code[position] == closing)
        if depth == 0:
            return position + 1
    raise ValueError(f"no {closing} for the {opening} at {start}")


def _used(file: Module, path: Path, sources: Mapping[Module, Path]) -> Iterator[Module]:
    """Yield the files whose names a file uses."""
    for module, code in _blocks(file, _code(path)):
        for used in _paths(code):
            target = _target(module, used, sources)
            if target is not None:
                yield target


def _blocks(module: Module, code: str) -> Iterator[tuple[Module, str]]:
    """Yield a module and the modules that are written within it, each without those within."""
    while found := _INLINE_MODULE.search(code):
        end = _end_of_block(code, found.end())
        yield from _blocks((*module, found[1]), code[found.end() + 1 : end - 1])
        code = code[: found.start()] + code[end:]
    yield module, code


def _paths(code: str) -> Iterator[list[str]]:
    """Yield the paths of `use` declarations, and those within expressions and types."""
    for tree in _USE.findall(code):
        yield from _expanded([], re.sub(r"\s+as\s+\w+|\s", "", tree))
    for found in _PATH.findall(_USE.sub("", code)):
        yield found.split("::")


def _expanded(prefix: list[str], tree: str) -> Iterator[list[str]]:
    """Yield the paths of a tree like `a::{b, c::{d, e}}`."""
    stem, brace, rest = tree.partition("{")
    segments = [*prefix, *(segment for segment in stem.split("::") if segment)]
    if not brace:
        yield segments
        return
    depth, start = 0, 0
    branches = rest.removesuffix("}") + ","
    for position, character in enumerate(branches):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            if branch := branches[start:position]:
                yield from _expanded(segments, branch)
            start = position + 1


def _target(module: Module, path: list[str], sources: Mapping[Module, Path]) -> Module | None:
    """Return the file that a path within a module leads to; None if it leads out of the crates."""
    first, *rest = path
    if first == "crate":
        place = module[:1]
    elif first in {"self", "super"}:
        place = module if first == "self" else module[:-1]
        while rest and rest[0] == "super":
            place, rest = place[:-1], rest[1:]
    elif (first,) in sources:
        place = (first,)
    elif (*module, first) in sources:
        place = (*module, first)
    else:
        return None
    for segment in rest:
        if (*place, segment) not in sources:
            break
        place = (*place, segment)
    # A module that is written within a file belongs to it.
    while place not in sources:
        place = place[:-1]
    return place


def main() -> None:
    """List the circles."""
    graph = graph_of(NATIVE)
    found = circles(graph)
    print(f"{len(graph)} modules, {len(found)} circles, {sum(map(len, found))} modules in them")
    for circle in found:
        print()
        for module in circle:
            used = ", ".join(written(name) for name in sorted(graph[module] & set(circle)))
            print(f"{written(module)} uses {used}")


if __name__ == "__main__":
    main()
