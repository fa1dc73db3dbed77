"""Render the OpenRPC document as the reference page of the methods."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

Json = Mapping[str, Any]

SHOWN_CHARACTERS: Final = 140
SHOWN_ITEMS: Final = 3
SHOWN_MEMBERS: Final = 40
SHOWN_DEPTH: Final = 5
LINE: Final = 150
REJECTION: Final = "Reject: "
PAST: Final = "x-past"
PAST_MEANING: Final = {
    "remote": "passed through to the remote, the anchor's block too; what it has above the anchor is hidden",
    "state": "passed through to the remote below the anchor; the anchor's state is ours",
    "split": "up to the anchor by the remote, above it here, joined",
    "execute": "executed here, on the remote's state after the block",
    "replay": "the block's transactions are executed here again; by the remote if they cannot be",
    "local": "the remote is not asked",
}
"""The ways in which a fork handles the past, as methods declare them."""

GZIP = "0x1f8b08"
"""How the digits of packed data start."""

_LINKED: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def rpc_markdown(document: Json, examples: Mapping[str, tuple[Json, Json]] | None = None) -> str:
    """Return the page that describes every method of an OpenRPC document, with requests and responses."""
    lines = ["# JSON-RPC methods", "", *_rejected(document["methods"]), *_past(document["methods"])]
    for prefix, methods in groupby(document["methods"], key=_prefix):
        lines += [f"## {prefix}", ""]
        for method in methods:
            lines += _section(method)
            if examples is not None and method["name"] in examples:
                lines += _example(*examples[method["name"]])
    return "\n".join([*lines, *_objects(document["components"]["schemas"])])


def rpc_lines(document: Json) -> str:
    """Return the page that has one line for each method of an OpenRPC document."""
    lines = ["# JSON-RPC methods", "", "| past | what happens |", "|---|---|"]
    lines += [f"| `{past}` | {meaning} |" for past, meaning in PAST_MEANING.items()]
    for prefix, methods in groupby(document["methods"], key=_prefix):
        lines += ["", f"## {prefix}", "", "| method | result | past | |", "|---|---|---|---|"]
        lines += [_line(method) for method in methods]
    return "\n".join(lines)


def _line(method: Json) -> str:
    params = ", ".join(_param(param) for param in method["params"])
    result = _LINKED.sub(r"\1", _type(method["result"]["schema"])).replace("|", "\\|")
    summary = method["summary"].replace("|", "\\|")
    return f"| `{method['name']}({params})` | {result} | {method.get(PAST, '')} | {summary} |"


def _param(param: Json) -> str:
    return param["name"] if param["required"] else f"{param['name']}?"


def _objects(schemas: Mapping[str, Json]) -> list[str]:
    """Return a section for each object of requests and responses, with its members."""
    lines = [
        "## Objects",
        "",
        "A member that is not always there may be missing from the object.",
        "",
    ]
    for name, schema in sorted(schemas.items()):
        rows = _shapes(schema["anyOf"]) if "anyOf" in schema else _members(schema)
        lines += [f"### {name}", "", *_paragraph(schema), *rows, ""]
    return lines


def _shapes(shapes: Iterable[Json]) -> list[str]:
    """Return the table of what a request may choose from."""
    rows = [f"| {shape['description']} | {_type({'allOf': shape['allOf']})} |" for shape in shapes]
    return ["| the request has | type |", "|---|---|", *rows]


def _members(schema: Json) -> list[str]:
    """Return the table of an object's members."""
    members = schema.get("properties", {})
    if not members:
        return ["It has no members."]
    required = schema.get("required", ())
    rows = [_member(name, kind, name in required) for name, kind in members.items()]
    return ["| member | type | always | meaning |", "|---|---|---|---|", *rows]


def _paragraph(schema: Json) -> list[str]:
    text = schema.get("description", "").partition("\n")[0]
    return [text, ""] if text else []


def _member(name: str, schema: Json, is_required: bool) -> str:  # noqa: FBT001 - a column of a table
    meaning = schema.get("description", "").partition("\n")[0]
    return f"| `{name}` | {_type(schema)} | {'yes' if is_required else 'no'} | {meaning} |"


def _rejected(methods: Iterable[Json]) -> list[str]:
    """Return a table of the methods that are only rejected, with the reasons that their summaries give."""
    reasons = {
        method["name"]: method["summary"].removeprefix(REJECTION)
        for method in methods
        if method["summary"].startswith(REJECTION)
    }
    if not reasons:
        return []
    rows = [f"| [{name}](#{name.lower()}) | {reason} |" for name, reason in reasons.items()]
    return ["## Rejected methods", "", "| method | reason |", "|---|---|", *rows, ""]


def _past(methods: Iterable[Json]) -> list[str]:
    """Return a table of the methods that name a part of history, by what a fork does with what is below it."""
    by_past: dict[str, list[str]] = {}
    for method in methods:
        if PAST in method:
            by_past.setdefault(method[PAST], []).append(method["name"])
    if not by_past:
        return []
    rows = [
        f"| `{past}` | {PAST_MEANING[past]} | {', '.join(f'[{name}](#{name.lower()})' for name in names)} |"
        for past, names in sorted(
            by_past.items(), key=lambda item: list(PAST_MEANING).index(item[0])
        )
    ]
    return [
        "## On a fork",
        "",
        "What a fork does if a parameter names a block, a transaction or a range at or below its anchor.",
        "",
        "| past | what happens | methods |",
        "|---|---|---|",
        *rows,
        "",
    ]


def _prefix(method: Json) -> str:
    name: str = method["name"]
    return name.partition("." if "." in name else "_")[0]


def _section(method: Json) -> list[str]:
    lines = [f"### {method['name']}", "", method["summary"], ""]
    if "description" in method:
        lines += [method["description"], ""]
    if method["params"]:
        lines += ["| parameter | type | default |", "|---|---|---|"]
        lines += [_row(param) for param in method["params"]]
        lines += [""]
    lines += [f"Result: {_type(method['result']['schema'])}", ""]
    if PAST in method:
        lines += [f"Past, on a fork: `{method[PAST]}`", ""]
    if "x-notification" in method:
        lines += [f"Notifications: {_type(method['x-notification']['schema'])}", ""]
    errors = method.get("errors", [])
    lines += [f"- Error {error['code']}: {error['message']}." for error in errors]
    return [*lines, ""] if errors else lines


def _example(request: Json, response: Json) -> list[str]:
    return ["```json", *map(_written, (request, response)), "```", ""]


def _written(value: Any) -> str:
    """Return JSON on one line, or indented if it is too long."""
    value = abridged(value)
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= LINE else json.dumps(value, indent=2, ensure_ascii=False)


def abridged(value: Any, depth: int = 0) -> Any:
    """Abridge a JSON value: `…` replaces long strings, further items and deep objects."""
    match value:
        case str() if len(value) > SHOWN_CHARACTERS:
            # What gzip writes differs from version to version.
            return f"{GZIP}…" if value.startswith(GZIP) else f"{value[:34]}…{value[-8:]}"
        case list():
            shown = value if len(value) <= SHOWN_ITEMS else value[: SHOWN_ITEMS - 1]
            items = [abridged(item, depth + 1) for item in shown]
            return items if shown is value else [*items, "…"]
        case dict() if depth >= SHOWN_DEPTH and value:
            return "…"
        case dict():
            keys = list(value) if len(value) <= SHOWN_MEMBERS else list(value)[: SHOWN_ITEMS - 1]
            members = {key: abridged(value[key], depth + 1) for key in keys}
            return members if len(keys) == len(value) else {**members, "…": "…"}
    return value


def _row(param: Json) -> str:
    default = param["schema"].get("default")
    written = default if isinstance(default, str) else json.dumps(default)
    shown = "required" if param["required"] else f"`{written}`"
    return f"| `{param['name']}` | {_type(param['schema'])} | {shown} |"


def _type(schema: Json) -> str:
    """Return the short name of a type."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[`{name}`](#{name.lower()})"
    if "title" in schema:
        return f"`{schema['title']}`"
    for key in ("anyOf", "allOf"):
        if key in schema:
            return " or ".join(_type(part) for part in schema[key])
    if "prefixItems" in schema:
        return f"array of {', '.join(_type(part) for part in schema['prefixItems'])}"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if schema.get("type") == "array" and "items" in schema:
        return f"array of {_type(schema['items'])}"
    if schema.get("type") == "object" and "additionalProperties" in schema:
        return f"object of {_type(schema['additionalProperties'])} by key"
    return str(schema.get("type", "any JSON value"))
