from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Final

from entresol.explorer.files import explorer_files, without_comments

STATIC: Final = Path(str(resources.files("entresol.explorer"))) / "static"

MAX_LINES: Final = 300
# What a browser receives that has seen every page, in bytes; tests/explorer/budget.mjs measures single visits.
MAX_ALL: Final = 131_000
MAX_STYLES: Final = 12_000


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


def test_modules_are_small_enough_to_read() -> None:
    long = {
        file.name: lines
        for file in STATIC.iterdir()
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert long == {}


def test_all_files_fit_the_budget() -> None:
    sizes = {path: len(file.compressed) for path, file in explorer_files().items()}
    assert sum(sizes.values()) <= MAX_ALL
    assert sum(size for path, size in sizes.items() if path.endswith(".css")) <= MAX_STYLES


def test_comments_indentation_and_line_breaks_that_mean_nothing_are_not_sent() -> None:
    source = '/** Says\n * much. */\n\nlet a = /** @type {any} */ (b);\n  // Why.\n\n  f("//");\n'
    assert without_comments(source) == b'let a = (b);f("//");'
