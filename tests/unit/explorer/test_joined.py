from __future__ import annotations

import re
from collections import Counter
from importlib import resources
from typing import Final

from entresol.explorer.files import START, explorer_files
from entresol.explorer.joined import joined

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
    static = resources.files("entresol.explorer").joinpath("static")
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


def test_no_module_is_imported_that_is_not_served() -> None:
    files = explorer_files()
    for path, file in files.items():
        for name in re.findall(rb'(?:from |import\()"\./([\w.]+)"', file.body):
            assert f"/explorer/{name.decode()}" in files, path
