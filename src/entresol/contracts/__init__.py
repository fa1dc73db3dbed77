"""Compiled contracts of both layers, as package data that `make contracts` writes."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from entresol.primitives.values import Data, Hash32


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """The storage location of a contract's variable."""

    label: str
    slot: int
    offset: int
    type: str


class Artifact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A compiled contract."""

    name: str
    source: str
    """Its file, relative to the contracts folder."""
    source_hash: Hash32
    """The hash of the file and of everything that it imports."""
    compiler: str
    evm_version: str
    abi: list[dict[str, Any]]
    storage_layout: list[Variable]
    immutables: dict[str, list[int]]
    """The offsets in the runtime code of each immutable variable, a 32-byte word each."""
    bytecode: Data
    """The creation code, to be followed by the constructor's arguments."""
    runtime: Data
    """The runtime code, with zeros for immutable variables."""


@cache
def artifact(name: str) -> Artifact:
    """Return the compiled contract `name`."""
    return decode(resources.files(__name__).joinpath(f"{name}.json").read_bytes())


def names() -> list[str]:
    """Return the names of all contracts, sorted."""
    found = (
        re.fullmatch(r"(\w+)\.json", file.name) for file in resources.files(__name__).iterdir()
    )
    return sorted(match[1] for match in found if match)


def decode(text: bytes) -> Artifact:
    """Decode an artifact file."""
    return msgspec.json.decode(text, type=Artifact, dec_hook=_parse, strict=False)


def _parse(kind: type[Any], value: Any) -> Any:
    return kind.parse(value)
