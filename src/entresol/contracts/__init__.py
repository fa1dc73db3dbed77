"""The compiled contracts of both layers, as package data.

`make contracts` writes one file for each contract in the folder contracts/ of the sources.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from entresol.primitives.values import Data, Hash32


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """Where a contract keeps one of its variables."""

    label: str
    slot: int
    offset: int
    type: str


class Artifact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A compiled contract."""

    name: str
    source: str
    """Its file, seen from the folder of the contracts."""
    source_hash: Hash32
    """Changes with the file and with everything that it imports."""
    compiler: str
    evm_version: str
    abi: list[dict[str, Any]]
    storage_layout: list[Variable]
    immutables: dict[str, list[int]]
    """Where in the runtime code the constructor puts the value of each immutable variable, in 32 bytes."""
    bytecode: Data
    """What a transaction deploys, to be followed by the constructor's arguments."""
    runtime: Data
    """What is then found at the address, except that immutable variables are still zero."""

    def with_immutables(self, values: dict[str, bytes]) -> Data:
        """Return the runtime code as a constructor leaves it that sets the immutable variables to `values`.

        Each value is given without its padding; every immutable variable must be named, and no other.
        """
        if values.keys() != self.immutables.keys():
            missing = sorted(values.keys() ^ self.immutables.keys())
            raise ValueError(
                f"immutable variables of {self.name} do not match: {', '.join(missing)}"
            )
        code = bytearray(self.runtime)
        for name, places in self.immutables.items():
            for start in places:
                code[start : start + 32] = values[name].rjust(32, b"\0")
        return Data(code)


@cache
def artifact(name: str) -> Artifact:
    """Return the compiled contract called `name`."""
    return decode(resources.files(__name__).joinpath(f"{name}.json").read_bytes())


def names() -> list[str]:
    """Return the names of all contracts, sorted."""
    found = (
        re.fullmatch(r"(\w+)\.json", file.name) for file in resources.files(__name__).iterdir()
    )
    return sorted(match[1] for match in found if match)


def decode(text: bytes) -> Artifact:
    """Return the contract that a file of `make contracts` describes."""
    return msgspec.json.decode(text, type=Artifact, dec_hook=_parse, strict=False)


def _parse(kind: type[Any], value: Any) -> Any:
    return kind.parse(value)
