"""The rules of the layout that a program can check: mirror, helpers, names, folders, imports, lines of the docs."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.support.run.tiers import LONG
from tools import crate_modules

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = ROOT / "src"
PACKAGE: Final = SOURCES / "entresol"
NATIVE_SOURCES: Final = ROOT / "native"
TESTS: Final = ROOT / "tests"
CORE: Final = TESTS / "core"
UNIT: Final = TESTS / "unit"
FEATURES: Final = TESTS / "features"
NATIVE: Final = CORE / "native"

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)

MAX_LINE: Final = 120
MAX_PARAMETERS: Final = 8
NO_NOUNS: Final = ("That of", "Those ", "Who ", "Whether all that", "What ", "Which ")
"""How no docstring begins."""
IS_NO: Final = re.compile(
    r"(?<!\bthere )\b(is|are|was|were) no (?!(longer|more|less|later|earlier|better)\b)",
    re.IGNORECASE,
)
"""Written "is not a" instead."""
SAYS_NOTHING: Final = re.compile(r"(Remembers|Persists|Assumes): nothing\.|Fails: never\.")

NO_MIRROR: Final = {
    "unit/test_benchmarks.py": "tests benchmarks/harness.py, which is not part of the package",
    "unit/test_crate_modules.py": "tests tools/crate_modules.py, which is not part of the package",
    "unit/test_docs.py": "tests the pages that docs/tools writes, and the examples of the README",
    "unit/test_methods.py": "tests the methods of the core and of all features together",
    "unit/test_layout.py": "tests the tree itself",
    "unit/test_settings.py": "tests the sections of features beside those of the core",
    "unit/test_site.py": "tests docs/tools/site.py, which is not part of the package",
    "core/test_native_stub.py": "compares _native.pyi with the built module",
}
"""Unit tests of something else than a module of the package."""

SHELLS: Final = {"cli", "inprocess", "testing"}
"""The packages whose tests are in tests/unit; the core's are in tests/core, which runs without features."""

PROTOCOLS: Final[dict[str, str]] = {}
"""Class names that a protocol shares with the class that implements it, with the reason."""

NEEDS: Final = {
    "adding": {"workers": "a node with workers adds no chains"},
    "cluster": {
        "fork": "a member rejects its settings",
        "workers": "a member may have workers",
    },
    "fork": {
        "cluster": "a fork rejects its settings",
        "debugger": "`entresol replay --sources` names contracts",
        "workers": "one process serves a fork",
    },
    "workers": {"explorer": "a worker serves the page, and passes on what it asks of a remote L1"},
}
"""The features that a feature imports, with the reason."""

SLEEPS: Final = {
    "tests/robustness": "attacks and faults last as long as they last",
    "tests/support/polling.py": "waits for other processes",
    "tests/support/anvil.py": "waits for other processes",
    "tests/support/cluster/proxy.py": "is a slow network",
    "tests/support/fork/proxy.py": "is a slow network",
    "tests/integration/test_raw_transactions.py": "kills at a random moment",
    "tests/integration/test_node_crash.py": "kills at a random moment",
    "tests/integration/test_several_chains_crash.py": "kills at a random moment",
}
"""Tests and helpers that may sleep, with the reason."""

PORT: Final = re.compile(r"(\b|_)port\b|\.bind\(")
PORT_NAME: Final = re.compile(r"([a-z0-9]+_)?port")
PORT_FLAG: Final = re.compile(r"--([a-z0-9]+-)?port")
IMPOSSIBLE_PORT: Final = 1 << 16

GENERATED: Final = {"docs/config.md", "docs/errors.md", "docs/rpc.md"}
"""Pages that docs/tools writes whole."""


def test_each_unit_test_mirrors_a_module() -> None:
    unmatched = {
        str(path.relative_to(TESTS))
        for folder, root in ((CORE, CORE), (UNIT, UNIT), (FEATURES, TESTS))
        for path in folder.rglob("test_*.py")
        if path.parent.name != "integration" and not mirrors(path, root)
    }
    assert unmatched == set(NO_MIRROR)


def test_what_is_not_of_the_core_is_a_feature_or_a_shell() -> None:
    beside = {path.name for path in UNIT.iterdir() if any(path.rglob("test_*.py"))}
    assert beside == SHELLS


def test_nothing_is_imported_from_a_test_or_a_conftest() -> None:
    forbidden = re.compile(r"^\s*(?:from|import) tests\b.*\b(?:test_\w+|conftest)\b", re.MULTILINE)
    importing = [
        f"{path.relative_to(ROOT)}: {found[0].strip()}"
        for folder in (TESTS, ROOT / "benchmarks", ROOT / "docs")
        for path in modules_under(folder)
        for found in forbidden.finditer(path.read_text(encoding="utf-8"))
    ]
    assert importing == []


def test_no_two_classes_have_one_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for module, tree in package_trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1}.keys() == (
        PROTOCOLS.keys()
    )


def test_imports_have_no_circles_not_even_for_types() -> None:
    graph = {module: set(imports_of(tree)) for module, tree in package_trees().items()}
    assert list(circles(graph)) == []


def test_a_feature_imports_another_one_only_if_it_says_so() -> None:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for module, tree in package_trees().items():
        for imported in imports_of(tree):
            feature, other = feature_of(module), feature_of(imported)
            if feature and other and feature != other:
                found[feature].add(other)
    assert found == {feature: set(reasons) for feature, reasons in NEEDS.items()}


def test_no_constructor_of_an_assembly_has_more_than_eight_parameters() -> None:
    counts = {
        f"{module}: {node.name}": len(function.args.args) + len(function.args.kwonlyargs) - 1
        for module, tree in package_trees().items()
        if module.startswith(("entresol.node.", "entresol.features."))
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for function in node.body
        if isinstance(function, ast.FunctionDef) and function.name == "__init__"
    }
    assert {name: count for name, count in counts.items() if count > MAX_PARAMETERS} == {}


def test_each_feature_says_what_to_read_first_and_how_its_tests_run() -> None:
    folders = [path.parent for path in (PACKAGE / "features").glob("*/__init__.py")]
    assert len(folders) >= 10
    for folder in folders:
        readme = (folder / "README.md").read_text(encoding="utf-8")
        assert len(readme.splitlines()) <= 20
        assert f"`make test FEATURE={folder.name}`" in readme
        links = re.findall(r"\]\(([^)]+)\)", readme)
        assert [link for link in links if not (folder / link).is_file()] == []


def test_no_function_of_another_object_is_replaced() -> None:
    replaced = [
        f"{path.relative_to(ROOT)}:{line}: {target}"
        for path in modules_under(PACKAGE)
        for line, target in replaced_functions(path)
    ]
    assert replaced == [], "give it to the constructor, or listen to an event"


def test_modules_of_the_crates_have_no_circles() -> None:
    graph = crate_modules.graph_of(NATIVE_SOURCES)
    assert len(graph) > 100
    assert crate_modules.circles(graph) == []


def test_only_the_bindings_know_python() -> None:
    dependencies = {
        manifest.parent.name: set(
            tomllib.loads(manifest.read_text(encoding="utf-8"))["dependencies"]
        )
        for manifest in NATIVE_SOURCES.glob("*/Cargo.toml")
    }
    assert dependencies.keys() == {"core", "rpc", "python"}
    assert {crate for crate, names in dependencies.items() if "pyo3" in names} == {"python"}
    assert {crate for crate, names in dependencies.items() if "entresol-rpc" in names} == {"python"}


def test_loops_and_docstrings_name_the_thing() -> None:
    found: list[str] = []
    for path in modules_under(PACKAGE):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                names = [part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)]
                is_named = "it" not in names
                place = node.target.lineno
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                text = " ".join(str(node.value.value).split())
                is_named = not (
                    text.startswith(NO_NOUNS) or SAYS_NOTHING.search(text) or IS_NO.search(text)
                )
                place = node.lineno
            else:
                continue
            found += [] if is_named else [f"{path.relative_to(ROOT)}:{place}"]
    assert found == []


def test_lines_of_the_docs_fit_a_screen() -> None:
    long = [
        f"{page}:{number}"
        for page in pages()
        for number, line in prose_of((ROOT / page).read_text(encoding="utf-8"))
        if len(line) > MAX_LINE
    ]
    assert long == []


def test_no_test_sleeps() -> None:
    sleeping = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in modules_under(TESTS)
        if "sleep(" in path.read_text(encoding="utf-8")
        and not path.relative_to(ROOT).as_posix().startswith(tuple(SLEEPS))
        for line in sleeps_in(tree_of(path))
    ]
    assert sleeping == [], "wait for what has to happen: tests/support/polling.py, an event"


def test_no_test_listens_on_a_fixed_port() -> None:
    fixed = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in modules_under(TESTS)
        if PORT.search(path.read_text(encoding="utf-8"))
        for line in fixed_ports_in(tree_of(path))
    ]
    assert fixed == [], "port 0 is a free one"


def test_what_is_long_is_there() -> None:
    missing = [name for name in LONG if not is_test(name)]
    assert missing == []


def is_test(name: str) -> bool:
    """Say whether a test or a file of tests begins with this name."""
    file, _, test = name.partition("::")
    path = ROOT / file
    return path.is_file() and f"def {test.partition('[')[0]}" in path.read_text(encoding="utf-8")


def sleeps_in(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that sleep; `sleep(0)` lets others run, and returns at once."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[ast.Constant(value=0), *_]):
                continue
            case ast.Call(
                func=ast.Name("sleep") | ast.Attribute(ast.Name("time" | "asyncio"), "sleep")
            ):
                yield node.lineno


def fixed_ports_in(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that name a port to listen on."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (
                keyword.lineno
                for keyword in node.keywords
                if PORT_NAME.fullmatch(keyword.arg or "") and is_port(keyword.value)
            )
            if isinstance(node.func, ast.Attribute) and node.func.attr == "bind":
                yield from (
                    it.lineno
                    for it in ast.walk(node)
                    if isinstance(it, ast.Constant) and is_port(it)
                )
        elements = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
        yield from (
            flag.lineno for flag, value in pairwise([*elements, None]) if names_port(flag, value)
        )


def names_port(flag: ast.expr | None, value: ast.expr | None) -> bool:
    """Say whether a flag gives a port: by itself, or by what follows it."""
    if not isinstance(flag, ast.Constant) or not isinstance(flag.value, str):
        return False
    name, _, text = flag.value.partition("=")
    given = ast.Constant(text) if text else value
    return PORT_FLAG.fullmatch(name) is not None and given is not None and is_port(given)


def is_port(value: ast.expr) -> bool:
    """Say whether an expression is the number of a port that somebody else may have."""
    if not isinstance(value, ast.Constant) or not str(value.value).isdecimal():
        return False
    return 0 < int(str(value.value)) < IMPOSSIBLE_PORT


def mirrors(test: Path, root: Path) -> bool:
    """Say whether a unit test has the place and the name of a module, a package or a part of the crate.

    The tests of a module may be several files: `test_pool_eviction.py` is about a part of `pool.py`.
    """
    name = test.stem.removeprefix("test_")
    if test.parent == NATIVE:
        return any(crate_files(f"{name}.rs")) or any(crate_files(f"{name}/mod.rs"))
    folder = PACKAGE / test.parent.relative_to(root)
    words = name.split("_")
    names = ("_".join(words[: end + 1]) for end in range(len(words)))
    return (folder / name / "__init__.py").exists() or any(
        (folder / f"{it}.py").exists() for it in names
    )


def crate_files(pattern: str) -> Iterator[Path]:
    """Yield the sources of the crates whose paths end in a pattern."""
    return (path for folder in NATIVE_SOURCES.glob("*/src") for path in folder.rglob(pattern))


def modules_under(folder: Path) -> Iterator[Path]:
    """Yield the Python files of a folder, without those of npm."""
    return (path for path in folder.rglob("*.py") if "node_modules" not in path.parts)


def replaced_functions(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the assignments of functions to attributes of something else than `self`."""
    tree = tree_of(path)
    classes = [it for it in ast.walk(tree) if isinstance(it, ast.ClassDef)]
    methods = {id(item) for it in classes for item in it.body}
    # The name of a method alone is a variable.
    local = {
        it.name for it in ast.walk(tree) if isinstance(it, FUNCTIONS) and id(it) not in methods
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target, value in assigned(node):
            is_own = isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
            if not isinstance(target, ast.Attribute) or is_own:
                continue
            if is_function(value, local):
                yield node.lineno, ast.unparse(target)


def assigned(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target of an assignment with its value."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def is_function(value: ast.expr, local: set[str]) -> bool:
    """Return whether an expression is a function: a lambda, a partial one, a local one, or a method of something."""
    match value:
        case ast.Lambda():
            return True
        case ast.Call(func=ast.Name(id="partial")):
            return True
        case ast.Name(id=name):
            return name in local
        case ast.Attribute(attr=name):
            return name in methods_of_the_package()
    return False


@cache
def methods_of_the_package() -> frozenset[str]:
    """Return the names that are methods of some class, and properties or attributes of none."""
    methods, values = set[str](), set[str]()
    for path in modules_under(PACKAGE):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                for item in node.body:
                    if isinstance(item, FUNCTIONS):
                        is_value = any("property" in ast.unparse(it) for it in item.decorator_list)
                        (values if is_value else methods).add(item.name)
                    elif isinstance(item, ast.AnnAssign):
                        values.add(ast.unparse(item.target))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                values.add(node.attr)
    return frozenset(methods - values)


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def package_trees() -> Mapping[str, ast.Module]:
    """Return the syntax tree of each module of the package."""
    return {module_name(path): tree_of(path) for path in modules_under(PACKAGE)}


def module_name(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


def feature_of(module: str) -> str | None:
    """Return the feature that a module belongs to."""
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["features"] and len(parts) > 2 else None


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of the package that a module imports, also within functions and for types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("entresol"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            # It is not Python, and imports nothing.
            whole = [name for name in names if name != "entresol._native"]
            named = [name for name in whole if name in package_trees()]
            yield from named
            # Importing submodules from a package does not need what the package itself defines.
            if len(named) < len(whole):
                yield str(node.module)


def circles(graph: dict[str, set[str]]) -> Iterator[frozenset[str]]:
    """Yield one circle after the other, without the imports of those before."""
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle: list[str] = error.args[1]
            yield frozenset(circle)
            # The sorter lists a circle in the order of the edges, from imported to importing module.
            for imported, importing in pairwise(circle):
                graph[importing].discard(imported)
        else:
            return


def pages() -> Iterator[str]:
    """Yield the pages that people write."""
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        page = str(path.relative_to(ROOT))
        if page not in GENERATED:
            yield page


def prose_of(page: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page with their numbers, without code, tables, markup and the targets of links."""
    in_code = False
    for number, line in enumerate(page.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.lstrip().startswith(("|", "<")):
            yield number, re.sub(r"\]\([^)]*\)", "]", line)
