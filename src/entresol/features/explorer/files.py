"""The files of the explorer, as the server sends them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

from entresol import contracts
from entresol.server.pages import StaticFile

_IMPORT: Final = re.compile(r'import \{[^}]*\} from "\./([\w.]+)";\s*')


def joined(texts: Mapping[str, str], start: str) -> dict[str, str]:
    """Return modules by name, with `start` and all that it imports as one, and the imports of others from there.

    Names that modules declare outside their functions have to differ. Each module runs after those that it imports, as
    it does alone, and what it exports is exported.
    """
    parts = list(dict.fromkeys(_in_order(texts, start, set())))
    others = {name: text for name, text in texts.items() if name not in parts}
    named = re.compile(rf'"\./(?:{"|".join(map(re.escape, parts))})"')
    return {
        start: "\n".join(_IMPORT.sub("", texts[part]) for part in parts),
        **{name: named.sub(f'"./{start}"', text) for name, text in others.items()},
    }


def _in_order(texts: Mapping[str, str], name: str, seen: set[str]) -> Iterator[str]:
    seen.add(name)
    for other in _IMPORT.findall(texts[name]):
        if other not in seen:
            yield from _in_order(texts, other, seen)
    yield name


_KINDS: Final = {"function": "f", "event": "e", "error": "x"}
_MUTABILITY: Final = {"view": " v", "pure": " v", "payable": " p"}


def signatures() -> dict[str, list[str]]:
    """Return the lines of each contract, by its name."""
    return {name: list(_lines(contracts.artifact(name).abi)) for name in contracts.names()}


def _lines(abi: Sequence[dict[str, Any]]) -> Iterator[str]:
    for entry in abi:
        kind = _KINDS.get(entry["type"])
        if kind is not None:
            results = f" {_tuple(entry['outputs'])}" if entry.get("outputs") else ""
            suffix = _MUTABILITY.get(entry.get("stateMutability", ""), "")
            yield f"{kind} {entry['name']}{_tuple(entry['inputs'])}{results}{suffix}"


def _tuple(parameters: Sequence[dict[str, Any]]) -> str:
    return f"({','.join(map(_parameter, parameters))})"


def _parameter(parameter: dict[str, Any]) -> str:
    kind: str = parameter["type"]
    if kind.startswith("tuple"):
        kind = _tuple(parameter["components"]) + kind.removeprefix("tuple")
    mark = "*" if parameter.get("indexed") else ""
    name = f" {parameter['name']}" if parameter["name"] else ""
    return kind + mark + name


FOLDER: Final = "/explorer/"
"""The paths of all files but the page itself."""
PAGE: Final = "index.html"
START: Final = "main.js"
"""The module that every page loads, with all that it imports."""

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
    modules = joined({name: text for name, text in found.items() if name.endswith(".js")}, START)
    others = {name: text for name, text in found.items() if not name.endswith(".js")}
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
