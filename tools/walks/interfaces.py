"""The interfaces of the package: which calls of a higher floor go through one that the lower floor declares."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tools.walks.floors import ROOT, package_of

PACKAGE: Final = ROOT / "src" / "entresol"
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


class Interface(NamedTuple):
    """A protocol: its name, where it is declared, and its members."""

    name: str
    file: str
    members: frozenset[str]


class Interfaces:
    """The protocols of the package, and the members of its classes.

    Remembers: both, as they are in the sources. Persists: nothing.
    """

    def __init__(self, floors: Mapping[str, int]) -> None:
        self.floors = floors
        self._interfaces: list[Interface] = []
        self._members: dict[tuple[str, str], frozenset[str]] = {}
        self._bases: dict[tuple[str, str], list[str]] = {}
        self._named: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        self._returned: dict[tuple[str, str], str] = {}
        self.coroutines: set[tuple[str, str]] = set()
        """Functions that return a coroutine, by file and qualified name."""
        for path in PACKAGE.rglob("*.py"):
            file = path.relative_to(PACKAGE).as_posix()
            self._read(file, ast.parse(path.read_text(encoding="utf-8")))

    def declares(self, caller: str, callee: tuple[str, str]) -> bool:
        """Say whether a function is a member of an interface on the floor of the caller's file, or below.

        A function within another implements what that one says it returns.
        """
        file, function = callee
        floor = self.floors[package_of(caller)]
        below = [it for it in self._interfaces if self.floors[package_of(it.file)] <= floor]
        outer, _, _ = function.rpartition(".<locals>.")
        if outer:
            return any(it.name == self._returned.get((file, outer)) for it in below)
        class_name, _, member = function.rpartition(".")
        members = frozenset(self._all_members((file, class_name)))
        return any(member in it.members and it.members <= members for it in below)

    def _read(self, file: str, tree: ast.Module) -> None:
        for function in _functions(tree):
            if function.node.returns is not None:
                self._returned[file, function.name] = ast.unparse(function.node.returns)
            if isinstance(function.node, ast.AsyncFunctionDef):
                self.coroutines.add((file, function.name))
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            members = frozenset(_members(node))
            bases = [ast.unparse(it).split("[")[0].split(".")[-1] for it in node.bases]
            if "Protocol" in bases:
                self._interfaces.append(Interface(node.name, file, members))
            self._members[file, node.name] = members
            self._bases[file, node.name] = bases
            self._named[node.name].append((file, node.name))

    def _all_members(self, class_: tuple[str, str]) -> Iterator[str]:
        yield from self._members.get(class_, ())
        for base in self._bases.get(class_, ()):
            for found in self._named[base]:
                yield from self._all_members(found)


class _Function(NamedTuple):
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[_Function]:
    """Yield the functions below a node, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, FUNCTIONS):
            yield _Function(prefix + node.name, node)
            yield from _functions(node, f"{prefix}{node.name}.<locals>.")
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        else:
            yield from _functions(node, prefix)


def _members(node: ast.ClassDef) -> Iterator[str]:
    for it in ast.walk(node):
        if isinstance(it, FUNCTIONS):
            yield it.name
        elif isinstance(it, ast.AnnAssign) and isinstance(it.target, ast.Name):
            yield it.target.id
        elif isinstance(it, ast.Assign):
            yield from (target.id for target in it.targets if isinstance(target, ast.Name))
        if (
            isinstance(it, ast.Attribute)
            and isinstance(it.ctx, ast.Store)
            and isinstance(it.value, ast.Name)
            and it.value.id == "self"
        ):
            yield it.attr
