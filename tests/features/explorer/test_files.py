"""The files of the explorer: what is joined, and the table of signatures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final

from entresol import contracts
from entresol.features.explorer.files import (
    START,
    explorer_files,
    joined,
    signatures,
    without_comments,
)

STATIC: Final = Path(str(resources.files("entresol.features.explorer"))) / "static"

# What a browser receives, compressed: before the first page can show anything, then with each module that is loaded
# when it is needed, beyond what every page has. tests/explorer/budget.mjs measures whole visits.
MAX_START: Final = 38_000
OF_EVERY_PAGE: Final = ("boot.js", "index.html", "icon.svg", "base.css", "pages.css", "abis.json")

COMMENT: Final = re.compile(r"/\*\*.*?\*/", re.DOTALL)
IMPORT: Final = re.compile(r'^(?:import|export)\b[^;]*?\bfrom "\./([\w.]+)"', re.MULTILINE)
IMPORT_LATER: Final = re.compile(r'\bimport\("\./([\w.]+)"\)')


def test_the_page_is_at_the_root_and_its_files_below_their_folder() -> None:
    files = explorer_files()
    assert files["/"].is_page
    assert all(path.startswith("/explorer/") for path in files if path != "/")


def test_every_file_forbids_what_is_not_its_own() -> None:
    for file in explorer_files().values():
        assert b"content-security-policy: default-src 'none'; script-src 'self';" in file.headers
        assert b"x-content-type-options: nosniff" in file.headers


def test_nothing_is_loaded_from_elsewhere_and_nothing_is_markup() -> None:
    forbidden = ("http://", "https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval(")
    for file in STATIC.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert [word for word in forbidden if word in text] == [], file.name


def sizes() -> dict[str, int]:
    """Return how many bytes a browser receives of each file."""
    return {
        path.removeprefix("/explorer/").replace("/", "") or "index.html": len(file.compressed)
        for path, file in explorer_files().items()
    }


def sources() -> dict[str, str]:
    """Return each module without its comments, which name types of others."""
    return {
        file.name: COMMENT.sub("", file.read_text(encoding="utf-8")) for file in STATIC.glob("*.js")
    }


def loaded_with(module: str, texts: Mapping[str, str]) -> set[str]:
    """Return a module and all that it cannot run without."""
    found: set[str] = set()
    wanted = [module]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += IMPORT.findall(texts[name])
    return found


def test_what_every_page_needs_fits_the_budget() -> None:
    size = sizes()
    assert sum(size[it] for it in (START, *OF_EVERY_PAGE)) <= MAX_START


def test_no_module_is_left_that_nothing_loads() -> None:
    texts = sources()
    roots = {START, "boot.js"} | {
        name for text in texts.values() for name in IMPORT_LATER.findall(text)
    }
    used = set[str]().union(*(loaded_with(root, texts) for root in roots))
    assert texts.keys() - used == set()


def test_comments_indentation_and_line_breaks_that_mean_nothing_are_not_sent() -> None:
    source = '/** Says\n * much. */\n\nlet a = /** @type {any} */ (b);\n  // Why.\n\n  f("//");\n'
    assert without_comments(source) == 'let a = (b);f("//");'


def test_every_contract_is_there() -> None:
    assert sorted(signatures()) == contracts.names()


def test_a_tuple_is_written_with_its_parts() -> None:
    (line,) = (it for it in signatures()["L1Nullifier"] if it.startswith("f finalizeDeposit"))
    assert line.startswith("f finalizeDeposit((uint256 chainId,uint256 l2BatchNumber,")
    assert line.endswith("bytes32[] merkleProof) params)")


DECLARED: Final = re.compile(
    r"^(?:export )?(?:async )?(?:const|let|function|class) (?:(\w+)|[{[]([^}\]]*)[}\]])",
    re.MULTILINE,
)
OF_THE_BROWSER: Final = {
    *("close", "document", "event", "fetch", "focus", "frames", "history", "length", "location", "name"),
    *("navigator", "open", "origin", "parent", "performance", "print", "screen", "scroll", "self", "status"),
    *("stop", "top", "window", "localStorage", "sessionStorage", "dispatchEvent", "addEventListener"),
}  # fmt: skip
"""What modules use without importing it."""


def test_a_module_runs_after_those_that_it_imports() -> None:
    texts = {
        "main.js": 'import { a } from "./a.js";import {b,c} from "./b.js";a(b);',
        "a.js": 'import { b } from "./b.js";export const a = b;',
        "b.js": 'import { a } from "./a.js";export const b = 1;',
        "page.js": 'import { a } from "./a.js";import { d } from "./d.js";a(d);',
        "d.js": "export const d = 2;",
    }
    assert joined(texts, "main.js") == {
        "main.js": "export const b = 1;\nexport const a = b;\na(b);",
        "page.js": 'import { a } from "./main.js";import { d } from "./d.js";a(d);',
        "d.js": "export const d = 2;",
    }


def test_modules_that_are_joined_declare_different_names_and_none_of_the_browser() -> None:
    files = explorer_files()
    static = resources.files("entresol.features.explorer").joinpath("static")
    names: Counter[str] = Counter()
    for file in static.iterdir():
        if file.name.endswith(".js") and (
            f"/explorer/{file.name}" not in files or file.name == START
        ):
            for name, several in DECLARED.findall(file.read_text(encoding="utf-8")):
                names.update([name] if name else re.findall(r"\w+", several))
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []
    assert OF_THE_BROWSER & names.keys() == set()
