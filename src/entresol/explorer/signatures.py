"""The ABIs of the project's contracts as one line for each entry, which is a tenth of their JSON.

A line is `f`, `e` or `x` for a function, an event or an error, then its signature with names; `*` marks an indexed
parameter, and after the results `v` a function that only reads, `p` one that takes ether.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from entresol import contracts

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
