"""The reference page of the methods, written from the OpenRPC document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from typing import Any

Json = Mapping[str, Any]


def rpc_markdown(document: Json) -> str:
    """Return the page that describes every method of an OpenRPC document."""
    lines = ["# JSON-RPC methods", ""]
    for prefix, methods in groupby(document["methods"], key=_prefix):
        lines += [f"## {prefix}", ""]
        for method in methods:
            lines += _section(method)
    return "\n".join(lines)


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
    errors = method.get("errors", [])
    lines += [f"- Error {error['code']}: {error['message']}." for error in errors]
    return [*lines, ""] if errors else lines


def _row(param: Json) -> str:
    default = param["schema"].get("default")
    written = default if isinstance(default, str) else json.dumps(default)
    shown = "required" if param["required"] else f"`{written}`"
    return f"| `{param['name']}` | {_type(param['schema'])} | {shown} |"


def _type(schema: Json) -> str:
    """Name a type as briefly as a reader can understand it."""
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "title" in schema:
        return f"`{schema['title']}`"
    for key in ("anyOf", "allOf"):
        if key in schema:
            return " or ".join(_type(part) for part in schema[key])
    if schema.get("type") == "array" and "items" in schema:
        return f"array of {_type(schema['items'])}"
    return str(schema.get("type", "any JSON value"))
