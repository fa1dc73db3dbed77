"""Known ABIs: decode calls, results, errors and events by their selectors and topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, Self

import msgspec

from entresol import contracts
from entresol._native import keccak256
from entresol.errors import MalformedValue
from entresol.primitives import abi
from entresol.primitives.values import Address

MAX_ENTRIES: Final = 50_000
"""Functions, errors and events of a registry; more are not added."""

MAX_TEXT: Final = 1_000
"""Characters of a value; a longer one is cut."""

MAX_DATA: Final = 32_768
"""Bytes of arguments that are decoded."""

PLAIN_BELOW: Final = 10_000
"""From this number on, the order of magnitude is shown as well."""

_SELECTOR_SIZE: Final = 4
_DIGITS: Final = 4


class AbiParameter(msgspec.Struct, frozen=True):
    """A parameter of a function, an error or an event, as in the JSON of an ABI."""

    type: str
    name: str = ""
    indexed: bool = False
    components: tuple[AbiParameter, ...] = ()

    @property
    def canonical(self) -> str:
        """The type as in a signature: a tuple as its parts."""
        if not self.type.startswith("tuple"):
            return self.type
        return types_of(self.components) + self.type.removeprefix("tuple")

    @property
    def is_hashed(self) -> bool:
        """Whether an indexed value is only present as its hash."""
        return self.canonical in ("string", "bytes") or self.canonical[-1] in ")]"


class AbiEntry(msgspec.Struct, frozen=True):
    """A function, an error or an event; other entries of an ABI have no name, or are ignored."""

    type: str = "function"
    name: str = ""
    inputs: tuple[AbiParameter, ...] = ()
    outputs: tuple[AbiParameter, ...] = ()
    anonymous: bool = False

    @property
    def signature(self) -> str:
        """The name with the types of the inputs."""
        return self.name + types_of(self.inputs)


class AbiKey(NamedTuple):
    """The key of an entry: its selector, or the topic of an event with the number of its indexed inputs."""

    type: str
    selector: bytes
    indexed: int = 0


class AbiRegistry:
    """Functions, errors and events of known contracts.

    Remembers: what was added, up to a number. Fails: never; what is not known or does not decode is None.
    """

    def __init__(self, base: Callable[[], AbiRegistry] | None = None) -> None:
        self._base = base
        """Looked up last; it is loaded when it is needed first."""
        self._entries: dict[AbiKey, AbiEntry] = {}

    def __len__(self) -> int:
        """Return how many entries were added."""
        return len(self._entries)

    @classmethod
    def of(cls, abis: Iterable[Any]) -> Self:
        """Return a registry with these ABIs, which are decoded JSON."""
        registry = cls()
        for entries in abis:
            registry.add(entries)
        return registry

    def over(self, base: AbiRegistry) -> AbiRegistry:
        """Return these ABIs, and where they have nothing another registry."""
        found = AbiRegistry(lambda: base)
        found._entries = self._entries
        return found

    def add(self, entries: Any) -> bool:
        """Add the entries of an ABI, which is decoded JSON; return whether it was one."""
        try:
            decoded = msgspec.convert(entries, list[AbiEntry])
        except msgspec.ValidationError:
            return False
        for entry in decoded[: max(0, MAX_ENTRIES - len(self))]:
            self._add(entry)
        return True

    def find(self, key: AbiKey) -> AbiEntry | None:
        """Return an entry, if it is known."""
        found = self._entries.get(key)
        return found if found is not None or self._base is None else self._base().find(key)

    def call(self, data: bytes) -> str | None:
        """Return a call of a function with its arguments."""
        entry = self.find(AbiKey("function", data[:_SELECTOR_SIZE]))
        return None if entry is None else _decoded(entry, data[_SELECTOR_SIZE:])

    def output(self, data: bytes, output: bytes) -> str | None:
        """Return what the function that `data` calls has returned."""
        entry = self.find(AbiKey("function", data[:_SELECTOR_SIZE]))
        if entry is None or not entry.outputs:
            return None
        values = _values(entry.outputs, output)
        return None if values is None else ", ".join(map(format_value, entry.outputs, values))

    def error(self, data: bytes, *, named: bool = False) -> str | None:
        """Return a custom error with its arguments; `named` if they are shown by name, as those of events are."""
        entry = self.find(AbiKey("error", data[:_SELECTOR_SIZE]))
        if entry is None:
            return None
        return _decoded(entry, data[_SELECTOR_SIZE:], named=named) or entry.name

    def event(self, topics: Sequence[bytes], data: bytes) -> str | None:
        """Return an event with its arguments by name."""
        if not topics:
            return None
        entry = self.find(AbiKey("event", bytes(topics[0]), len(topics) - 1))
        return None if entry is None else _decoded_event(entry, topics[1:], data)

    def _add(self, entry: AbiEntry) -> None:
        signature = entry.signature
        if not entry.name or not (signature.isascii() and signature.isprintable()):
            return
        if entry.type in ("function", "error"):
            key = AbiKey(entry.type, abi.selector(signature))
        elif entry.type == "event" and not entry.anonymous:
            indexed = sum(parameter.indexed for parameter in entry.inputs)
            key = AbiKey(entry.type, keccak256(signature.encode()), indexed)
        else:
            return
        self._entries.setdefault(key, entry)


def argument_texts(entry: AbiEntry, data: bytes) -> list[str] | None:
    """Return the arguments of an entry as text, one each; None if they do not decode."""
    values = _values(entry.inputs, data) if entry.inputs else ()
    return None if values is None else list(map(format_value, entry.inputs, values))


@cache
def project_abis() -> AbiRegistry:
    """Return the ABIs of the contracts of both layers, and the events of ds-test."""
    registry = AbiRegistry.of(contracts.artifact(name).abi for name in contracts.names())
    registry.add(list(ds_test_events()))
    return registry


def types_of(parameters: Iterable[AbiParameter]) -> str:
    """Return the tuple of the types of parameters."""
    return f"({','.join(parameter.canonical for parameter in parameters)})"


def format_value(parameter: AbiParameter, value: Any) -> str:
    """Return a value as text: numbers with their magnitude, addresses checksummed, strings quoted."""
    text = _formatted(parameter.canonical, parameter.components, value)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"


def _formatted(kind: str, components: tuple[AbiParameter, ...], value: Any) -> str:
    if kind.endswith("]"):
        item = kind[: kind.rindex("[")]
        return f"[{', '.join(_formatted(item, components, part) for part in value[:MAX_TEXT])}]"
    if kind.endswith(")"):
        return f"({', '.join(map(format_value, components, value))})"
    if kind == "address":
        return Address(value).checksummed()
    if isinstance(value, bytes):
        return "0x" + value[:MAX_TEXT].hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else _number(value)


def _number(value: int) -> str:
    """Return a number as forge shows it: `1500000 [1.5e6]`."""
    if abs(value) < PLAIN_BELOW:
        return str(value)
    sign, digits = "-" if value < 0 else "", str(abs(value))
    fraction = digits[1:_DIGITS].rstrip("0")
    return f"{value} [{sign}{digits[0]}{'.' if fraction else ''}{fraction}e{len(digits) - 1}]"


def _values(parameters: Sequence[AbiParameter], data: bytes) -> tuple[Any, ...] | None:
    if len(data) > MAX_DATA:
        return None
    try:
        return abi.decode(types_of(parameters), data)
    except MalformedValue:
        return None


def _decoded(entry: AbiEntry, data: bytes, *, named: bool = False) -> str | None:
    values = _values(entry.inputs, data) if entry.inputs else ()
    if values is None:
        return None
    shown: Iterable[str] = map(format_value, entry.inputs, values)
    if named:
        pairs = zip(entry.inputs, shown, strict=True)
        shown = (
            f"{parameter.name}: {text}" if parameter.name else text for parameter, text in pairs
        )
    return f"{entry.name}({', '.join(shown)})"


def _decoded_event(entry: AbiEntry, topics: Sequence[bytes], data: bytes) -> str | None:
    in_data = [parameter for parameter in entry.inputs if not parameter.indexed]
    values = _values(in_data, data) if in_data else ()
    if values is None:
        return None
    rest, indexed, shown = iter(values), iter(topics), []
    for number, parameter in enumerate(entry.inputs):
        text = (
            _topic(parameter, next(indexed))
            if parameter.indexed
            else format_value(parameter, next(rest))
        )
        shown.append(f"{parameter.name or f'param{number}'}: {text}")
    return f"{entry.name}({', '.join(shown)})"


def _topic(parameter: AbiParameter, topic: bytes) -> str:
    values = None if parameter.is_hashed else _values([parameter], topic)
    return "0x" + topic.hex() if values is None else format_value(parameter, values[0])


_VALUES: Final = {
    "address": "address",
    "bytes32": "bytes32",
    "int": "int256",
    "uint": "uint256",
    "bytes": "bytes",
    "string": "string",
}
_ARRAYS: Final = ("uint256[]", "int256[]", "address[]")
_DECIMALS: Final = {"int": "int256", "uint": "uint256"}


def ds_test_events() -> Iterator[dict[str, Any]]:
    """Yield the events as entries of an ABI; forge names a value `val`, and its name `key`."""
    yield _event("log", "string")
    yield _event("logs", "bytes")
    for name, kind in _VALUES.items():
        yield _event(f"log_{name}", kind)
        yield _event(f"log_named_{name}", kind, key=True)
    for kind in _ARRAYS:
        yield _event("log_array", kind)
        yield _event("log_named_array", kind, key=True)
    for name, kind in _DECIMALS.items():
        yield _event(f"log_named_decimal_{name}", kind, key=True, decimals=True)


def _event(name: str, kind: str, *, key: bool = False, decimals: bool = False) -> dict[str, Any]:
    inputs = [{"type": kind, "name": "val"}]
    if key:
        inputs.insert(0, {"type": "string", "name": "key"})
    if decimals:
        inputs.append({"type": "uint256", "name": "decimals"})
    return {"type": "event", "name": name, "inputs": inputs}
