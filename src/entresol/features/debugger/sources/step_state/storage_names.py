"""The state variables in slots: by the compiler's layout, and by what the execution has hashed."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import keccak256
from entresol.features.debugger.sources.compiler_json import StoredType, StoredVariable
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from entresol.features.debugger.sources.compiler_json import StorageLayout


_NUMBER: Final = re.compile(r"(u?)int(\d{0,3})")
_BYTES: Final = re.compile(r"bytes([1-9]|[12]\d|3[0-2])")
_BYTE_BITS: Final = 8
WORD_BITS: Final = 256


def word_text(kind: str, word: int) -> str | None:
    """Return a value that is in the lowest bits of a word, as a person writes it; None if the type is another one."""
    if (number := _NUMBER.fullmatch(kind)) is not None:
        bits = min(int(number[2] or WORD_BITS), WORD_BITS)
        value = word & ((1 << bits) - 1)
        is_negative = not number[1] and bool(bits) and value >> (bits - 1)
        return str(value - (1 << bits) if is_negative else value)
    if kind == "bool":
        return "true" if word & 0xFF else "false"
    if kind in ("address", "address payable") or kind.startswith("contract "):
        return Address((word & ((1 << 160) - 1)).to_bytes(20)).checksummed()
    if kind.startswith("enum "):
        return str(word & 0xFF)
    if (found := _BYTES.fullmatch(kind)) is not None:
        size = int(found[1])
        return f"0x{(word & ((1 << _BYTE_BITS * size) - 1)).to_bytes(size).hex()}"
    return None


def bytes_text(data: bytes, *, is_text: bool) -> str:
    """Return bytes in hex digits, or a string in quotes."""
    return f'"{data.decode(errors="replace")}"' if is_text else f"0x{data.hex()}"


MAX_WORK: Final = 50_000
"""Variables and members that are looked at to name the slots of a step."""

MAX_DEPTH: Final = 12

MAX_NAME: Final = 300

MAX_VARIABLES: Final = 32

MAX_OFFSET: Final = 1 << 32
"""How far after a hash slots belong to it."""

WORD: Final = 32
_SHORT: Final = 31
_LENGTH: Final = StoredType(label="uint256", encoding="inplace", number_of_bytes="32")
_NO_TYPE: Final = StoredType()
_MAX_DIGITS: Final = 78
_FIXED: Final = re.compile(r"\[(\d+)\]$")


class SlotVariable(NamedTuple):
    """A variable in a slot, or a part of one."""

    name: str
    type: str
    value: str | None


class _Item(NamedTuple):
    """A variable that begins in a slot, or has a part there."""

    name: str
    type: StoredType
    offset: int = 0
    part: int = 0
    """The number of a slot of a long string after its first one; 0 elsewhere."""


class StorageNames:
    """Names slots of one layout. Fails: never; what is malformed, or too much, has no names."""

    def __init__(
        self, layout: StorageLayout, preimages: Mapping[int, bytes], values: Mapping[int, int]
    ) -> None:
        """Name by what was hashed, preimages by their hashes, and by the values of slots that are known."""
        self._layout = layout
        self._types = layout.types or {}
        self._preimages = {**_slot_hashes(values), **preimages}
        self._values = values
        self._hashes = sorted(self._preimages)
        self._work = 0
        self._known: dict[int, list[_Item]] = {}

    def of(self, slot: int, value: int) -> list[SlotVariable]:
        """Return the variables in a slot that has a value, the lowest bytes first."""
        found = []
        for item in self._items(slot, 0)[:MAX_VARIABLES]:
            shown = _shown(item, value)
            if shown is not None:
                found.append(shown)
        return found

    def _items(self, slot: int, depth: int) -> list[_Item]:
        known = self._known.get(slot)
        if known is None:
            known = [
                item
                for variable in self._layout.storage
                for item in self._of_variable(variable, "", 0, slot, depth)
            ] or list(self._hashed(slot, depth))
            if self._work < MAX_WORK:
                self._known[slot] = known
        return known

    def _hashed(self, slot: int, depth: int) -> Iterator[_Item]:
        """Yield what is at a slot after a hash: of a mapping's key, or of an array's own slot."""
        place = bisect_right(self._hashes, slot) - 1
        if place < 0 or depth >= MAX_DEPTH or slot - self._hashes[place] > MAX_OFFSET:
            return
        start = self._hashes[place]
        preimage = self._preimages[start]
        for outer in self._items(_slot_of(preimage), depth + 1):
            encoding = outer.type.encoding
            if encoding == "mapping" and len(preimage) > WORD and not outer.part:
                key = self._key(outer.type, preimage[:-WORD])
                item = self._type(outer.type.value)
                yield from self._at(f"{outer.name}[{key}]", item, start, 0, slot, depth + 1)
            elif encoding == "dynamic_array" and len(preimage) == WORD:
                item, length = self._type(outer.type.base), self._values.get(_slot_of(preimage))
                yield from self._of_array(outer.name, item, length, start, slot, depth + 1)
            elif encoding == "bytes" and len(preimage) == WORD:
                yield outer._replace(part=slot - start + 1)

    def _of_variable(
        self, variable: StoredVariable, prefix: str, base: int, slot: int, depth: int
    ) -> Iterator[_Item]:
        start = base + _number(variable.slot)
        name = prefix + variable.label
        yield from self._at(name, self._type(variable.type), start, variable.offset, slot, depth)

    def _at(
        self, name: str, kind: StoredType, start: int, offset: int, slot: int, depth: int
    ) -> Iterator[_Item]:
        """Yield what a variable of some type that starts at a slot has at another one."""
        self._work += 1
        size = max(1, -(-_number(kind.number_of_bytes) // WORD))
        if self._work > MAX_WORK or depth > MAX_DEPTH or not start <= slot < start + size:
            return
        name = name if len(name) <= MAX_NAME else name[:MAX_NAME] + "…"
        if kind.encoding != "inplace":
            yield _Item(name, kind)
        elif kind.members:
            for member in kind.members:
                yield from self._of_variable(member, f"{name}.", start, slot, depth + 1)
        elif kind.base is not None:
            found = _FIXED.search(kind.label)
            length = None if found is None else _number(found[1])
            item = self._type(kind.base)
            yield from self._of_array(name, item, length, start, slot, depth + 1)
        elif slot == start:
            yield _Item(name, kind, offset)

    def _of_array(
        self, name: str, item: StoredType, length: int | None, start: int, slot: int, depth: int
    ) -> Iterator[_Item]:
        """Yield the items of an array that are at a slot; `length` is how many there are, if it is known."""
        size = _number(item.number_of_bytes)
        if size <= 0:
            return
        if size > WORD // 2:
            slots = -(-size // WORD)
            index = (slot - start) // slots
            yield from self._at(f"{name}[{index}]", item, start + index * slots, 0, slot, depth)
            return
        count = WORD // size
        for place in range(count):
            index = (slot - start) * count + place
            if length is None or index < length:
                yield from self._at(f"{name}[{index}]", item, slot, place * size, slot, depth)

    def _key(self, mapping: StoredType, data: bytes) -> str:
        """Return the key of a mapping; a value type takes a word, a string its bytes."""
        kind = self._type(mapping.key).label
        if len(data) == WORD and kind not in ("string", "bytes"):
            word = int.from_bytes(data)
            if kind.startswith("bytes"):
                size = _number(self._type(mapping.key).number_of_bytes)
                word >>= 8 * max(0, WORD - size)
            return word_text(kind, word) or f"0x{data.hex()}"
        return bytes_text(data[:MAX_NAME], is_text=kind == "string")

    def _type(self, name: str | None) -> StoredType:
        return _NO_TYPE if name is None else self._types.get(name, _NO_TYPE)


def _slot_of(preimage: bytes) -> int:
    """Return the slot of the mapping or the array that was hashed."""
    return int.from_bytes(preimage[-WORD:])


def _slot_hashes(slots: Iterable[int]) -> dict[int, bytes]:
    """Return slots as preimages: the data of an array is after the hash of its slot, which may be a constant."""
    words = (slot.to_bytes(WORD) for slot in slots)
    return {int.from_bytes(keccak256(word)): word for word in words}


def _shown(item: _Item, value: int) -> SlotVariable | None:
    name, kind = item.name, item.type
    if kind.encoding == "inplace":
        size = _number(kind.number_of_bytes)
        word = (value >> 8 * min(max(item.offset, 0), WORD)) & ((1 << 8 * min(size, WORD)) - 1)
        return SlotVariable(name, kind.label, word_text(kind.label, word) or hex(word))
    if kind.encoding == "dynamic_array":
        return SlotVariable(f"{name}.length", _LENGTH.label, str(value))
    if kind.encoding != "bytes":
        return None
    is_text = kind.label == "string"
    if item.part:
        first = WORD * (item.part - 1)
        text = bytes_text(value.to_bytes(WORD), is_text=False)
        return SlotVariable(f"{name}[{first}…{first + _SHORT}]", kind.label, text)
    if value & 1:
        return SlotVariable(f"{name}.length", _LENGTH.label, str(value >> 1))
    length = min((value & 0xFF) >> 1, _SHORT)
    text = bytes_text(value.to_bytes(WORD)[:length], is_text=is_text)
    return SlotVariable(name, kind.label, text)


def _number(text: str) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    return int(text) if is_number else 0
