"""What compilers return as JSON: the contracts of a compilation with their sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol._native import keccak256
from entresol.sources.added_contracts import Compilation
from entresol.sources.compiled import CompiledCode, CompiledContract, Gap
from entresol.sources.source_file import SourceFile
from entresol.sources.source_map import PositionMap, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from entresol.sources.compiler_json import Bytecode, CompilerInput, CompilerOutput

MAX_CONTRACTS: Final = 20_000
"""Contracts of one compilation; further ones are not known."""

MAX_SOURCES: Final = 20_000

MAX_CODE: Final = 1 << 20
"""Bytes of a code; a longer one is not known."""

MAX_NUMBER_DIGITS: Final = 9
"""Digits of the number of a source, or of an offset of a code; a key that has more is none."""

_PLACEHOLDER: Final = re.compile(r"__.{36}__")
_ADDRESS_DIGITS: Final = "0" * 40


def contracts_of(
    output: CompilerOutput,
    texts: CompilerInput | None = None,
    read: Callable[[str], bytes | None] = lambda _: None,
    shown: Mapping[str, str] | None = None,
) -> list[CompiledContract]:
    """Return the contracts of a compilation that have code; `read` reads a source that the input has not.

    `shown` renames sources as people know them.
    """
    given = {} if texts is None else texts.sources
    names = shown or {}

    def text(name: str) -> bytes | None:
        found = given.get(name)
        if found is None or found.content is None:
            return read(name)
        return found.content.encode("utf-8", "surrogateescape")

    sources = numbered_sources(
        {number: SourceFile(names.get(name, name), text(name)) for number, name in _numbers(output)}
    )
    settings = None if texts is None else texts.settings
    is_optimized = None if settings is None else settings.is_optimized
    made = _contracts(output, sources, names, is_optimized=is_optimized)
    return [it for _, it in zip(range(MAX_CONTRACTS), made, strict=False)]


def compilation_of(output: CompilerOutput, texts: CompilerInput) -> Compilation:
    """Return the contracts of a compilation with what tells it from others."""
    hashes, size = [], 0
    for part in _parts(output, texts):
        encoded = msgspec.json.encode(part)
        hashes.append(keccak256(encoded))
        size += len(encoded)
    return Compilation(keccak256(b"".join(hashes)), size, contracts_of(output, texts))


def numbered_sources(files: Mapping[int, SourceFile]) -> list[SourceFile | None]:
    """Return sources by their numbers in the maps."""
    count = min(max(files, default=-1) + 1, MAX_SOURCES)
    return [files.get(number) for number in range(count)]


def compiled_code(
    bytecode: Bytecode | None, source: SourceFile | None, number: int
) -> CompiledCode | None:
    """Return a code with its map, or None if there is none."""
    if bytecode is None or bytecode.object in ("", "0x"):
        return None
    digits = _PLACEHOLDER.sub(_ADDRESS_DIGITS, bytecode.object.removeprefix("0x"))
    if len(digits) > 2 * MAX_CODE:
        return None
    try:
        code = bytes.fromhex(digits)
    except ValueError:
        return None
    found = bytecode.source_map
    source_map = found if isinstance(found, str) else _position_map(found or {}, source, number)
    return CompiledCode(code, source_map, list(_gaps(bytecode)))


def _parts(output: CompilerOutput, texts: CompilerInput) -> Iterator[object]:
    """Yield what a compilation consists of, in parts: encoding all at once would hold the event loop back."""
    yield texts.settings, output.sources
    yield from texts.sources.items()
    for file, contracts in output.contracts.items():
        for name, contract in contracts.items():
            yield file, name, contract


def _numbers(output: CompilerOutput) -> Iterator[tuple[int, str]]:
    """Yield the number and the name of each source; Vyper numbers none, and has one for each contract."""
    for place, (name, source) in enumerate(output.sources.items()):
        yield place if source.id is None else source.id, name


def _contracts(
    output: CompilerOutput,
    sources: list[SourceFile | None],
    names: Mapping[str, str],
    *,
    is_optimized: bool | None,
) -> Iterator[CompiledContract]:
    places = {it.name: number for number, it in enumerate(sources) if it is not None}
    for file, contracts in output.contracts.items():
        shown = names.get(file, file)
        number = places.get(shown, -1)
        own = sources[number] if number >= 0 else None
        for name, contract in contracts.items():
            creation = compiled_code(contract.evm.bytecode, own, number)
            deployed = compiled_code(contract.evm.deployed_bytecode, own, number)
            if creation is not None or deployed is not None:
                yield CompiledContract(
                    name,
                    shown,
                    contract.abi,
                    creation,
                    deployed,
                    sources,
                    is_optimized=is_optimized,
                    storage_layout=contract.storage_layout,
                )


def _gaps(bytecode: Bytecode) -> Iterator[Gap]:
    for libraries in bytecode.link_references.values():
        for places in libraries.values():
            yield from (Gap(it.start, it.length) for it in places)
    for places in (bytecode.immutable_references or {}).values():
        yield from (Gap(it.start, it.length) for it in places)


def _position_map(found: Mapping[str, Any], source: SourceFile | None, number: int) -> PositionMap:
    """Return the map that Vyper gives by offsets; what is malformed in it is left out."""
    spans = {}
    if source is not None:
        for pc, position in _by_offset(found, "pc_pos_map"):
            match position:
                case [int(line), int(column), int(end_line), int(end_column)]:
                    start, end = source.offset(line, column), source.offset(end_line, end_column)
                    spans[pc] = Span(start, end - start, number)
    jumps = {pc: it for pc, it in _by_offset(found, "pc_jump_map") if isinstance(it, str)}
    checks = {pc: it for pc, it in _by_offset(found, "error_map") if isinstance(it, str)}
    return PositionMap(spans, jumps, checks)


def _by_offset(found: Mapping[str, Any], name: str) -> Iterator[tuple[int, Any]]:
    entries = found.get(name)
    if isinstance(entries, dict):
        for pc, it in entries.items():
            if pc.isdecimal() and len(pc) <= MAX_NUMBER_DIGITS:
                yield int(pc), it
