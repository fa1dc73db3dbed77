"""The files of the explorer, as the server sends them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from entresol.explorer.joined import joined
from entresol.explorer.signatures import signatures
from entresol.server.pages import StaticFile

FOLDER: Final = "/explorer/"
"""The paths of all files but the page itself."""
PAGE: Final = "index.html"
START: Final = "main.js"
"""What every page loads, with all that it imports."""

# The page sends requests to its own server only, and runs only its own files.
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = (
    f"content-security-policy: {POLICY}\r\n"
    "x-content-type-options: nosniff\r\n"
    "referrer-policy: no-referrer\r\n"
).encode()

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "svg": "image/svg+xml",
}

_BLANK: Final = re.compile(r"^\n+", re.MULTILINE)
_COMMENTS: Final = re.compile(
    r"/\*\*.*?\*/ ?|^/\*.*?\*/\n|^[ \t]+//[^\n]*\n|^//[^\n]*\n|^[ \t]+", re.DOTALL | re.MULTILINE
)
_CONTINUED: Final = re.compile(r"(?<=[,;(\[{])\n")


@cache
def explorer_files() -> Mapping[str, StaticFile]:
    """Return all files by their path."""
    return dict(_files())


def _files() -> Iterator[tuple[str, StaticFile]]:
    found = {
        file.name: without_comments(file.read_text(encoding="utf-8"))
        for file in resources.files(__package__).joinpath("static").iterdir()
    }
    modules = joined({it: text for it, text in found.items() if it.endswith(".js")}, START)
    others = {it: text for it, text in found.items() if not it.endswith(".js")}
    for name, text in (modules | others).items():
        kind = _TYPES.get(name.rpartition(".")[2])
        if kind is not None:
            path = "/" if name == PAGE else FOLDER + name
            yield path, StaticFile.of(text.encode(), kind, HEADERS)
    lines = signatures()
    # Errors are a third of it, and most pages show none.
    abis = {
        name: [line for line in found if not line.startswith("x ")] for name, found in lines.items()
    }
    errors = sorted({line for found in lines.values() for line in found if line.startswith("x ")})
    for name, content in (("abis", abis), ("errors", errors)):
        encoded = msgspec.json.encode(content)
        yield f"{FOLDER}{name}.json", StaticFile.of(encoded, _TYPES["json"], HEADERS)


def without_comments(text: str) -> str:
    """Return a file without its documentation, indentation and line breaks that mean nothing: a third of its size.

    A comment begins with two asterisks or fills its lines; no file has such a thing, or the end of a line, within a
    string.
    """
    return _CONTINUED.sub("", _BLANK.sub("", _COMMENTS.sub("", text)))
