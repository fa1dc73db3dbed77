"""The JSON that compilers return: the contracts of a compilation with their sources."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol._native import keccak256
from entresol.features.debugger.sources.compiled import (
    Compilation,
    CompiledCode,
    CompiledContract,
    Gap,
)
from entresol.features.debugger.sources.source_file import SourceFile
from entresol.features.debugger.sources.source_map import PositionMap, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from entresol.features.debugger.sources.compiler_json import (
        Bytecode,
        CompilerInput,
        CompilerOutput,
        Contract,
    )

MAX_CONTRACTS: Final = 20_000
"""Contracts of one compilation; further ones are not known."""

MAX_SOURCES: Final = 20_000

MAX_CODE: Final = 1 << 20

MAX_NUMBER_DIGITS: Final = 9
"""Digits of the number of a source, or of an offset of a code; a key that has more is none."""

MAX_NAME: Final = 16_384

MAX_TEXT: Final = 2 << 20
"""Bytes of a source in the input; a longer one has no text."""

# What a code may need at most to be described, some times what compilers write.

MIN_DESCRIPTION: Final = 128 << 10
"""Bytes of JSON of an ABI or a storage layout, and one for each four bytes of code."""

MIN_MAP: Final = 1 << 10
MAP_BYTES: Final = 24
"""Characters of a source map for each byte of code."""

GAP_BYTES: Final = 20
"""Bytes of code for each immutable or address of a library: the latter has as many."""

MIN_DEFINITIONS: Final = 16_384
CODE_OF_ONE: Final = 16
"""Bytes of code for each further function, variable or contract in the sources."""

_text_or_positions: Final = msgspec.json.Decoder(str | dict[str, Any] | None).decode

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
        content = found.content.encode("utf-8", "surrogateescape")
        return content if len(content) <= MAX_TEXT else None

    sources = numbered_sources(
        {
            number: SourceFile(names.get(name, name)[:MAX_NAME], text(name))
            for number, name in _numbers(output)
        }
    )
    settings = None if texts is None else texts.settings
    is_optimized = None if settings is None else settings.is_optimized
    made = _contracts(output, sources, names, is_optimized=is_optimized)
    return list(islice(made, MAX_CONTRACTS))


def compilation_of(output: CompilerOutput, texts: CompilerInput) -> Compilation:
    """Return the contracts of a compilation, what tells it from others, and the memory that it takes.

    Its sources are read for what they define: as much as so much code may need.
    """
    key = keccak256(
        b"".join(keccak256(part) for part in map(msgspec.json.encode, _parts(output, texts)))
    )
    contracts = contracts_of(output, texts)
    codes = (code for contract in contracts for code in (contract.creation, contract.deployed))
    room = (
        MIN_DEFINITIONS + sum(len(code.code) for code in codes if code is not None) // CODE_OF_ONE
    )
    size = sum(contract.size for contract in contracts)
    for source in contracts[0].sources if contracts else ():
        if source is not None:
            room -= source.read_definitions(room)
            size += source.size
    return Compilation(key, size, contracts)


def numbered_sources(files: Mapping[int, SourceFile]) -> list[SourceFile | None]:
    """Return sources by their numbers in the maps."""
    count = min(max(files, default=-1) + 1, MAX_SOURCES)
    return [files.get(number) for number in range(count)]


def compiled_contract(
    name: str,
    file: str,
    contract: Contract,
    sources: list[SourceFile | None],
    number: int,
    *,
    is_optimized: bool | None,
) -> CompiledContract | None:
    """Return a contract with its codes, or None if it has none; `number` is that of the source that defines it.

    What describes it is left out if it is longer than codes of that size can need.
    """
    own = sources[number] if 0 <= number < len(sources) else None
    creation = _compiled_code(contract.evm.bytecode, own, number)
    deployed = _compiled_code(contract.evm.deployed_bytecode, own, number)
    codes = [code.code for code in (creation, deployed) if code is not None]
    if not codes or max(len(name), len(file)) > MAX_NAME:
        return None
    limit = MIN_DESCRIPTION + max(map(len, codes)) // 4
    abi, layout = (
        bytes(document) if len(bytes(document)) <= limit else b"null"
        for document in (contract.abi, contract.storage_layout)
    )
    return CompiledContract(
        name,
        file,
        abi,
        creation,
        deployed,
        sources,
        is_optimized=is_optimized,
        storage_layout=layout,
    )


def _compiled_code(
    bytecode: Bytecode | None, source: SourceFile | None, number: int
) -> CompiledCode | None:
    if bytecode is None or bytecode.object in ("", "0x"):
        return None
    digits = _PLACEHOLDER.sub(_ADDRESS_DIGITS, bytecode.object.removeprefix("0x"))
    if len(digits) > 2 * MAX_CODE:
        return None
    try:
        code = bytes.fromhex(digits)
    except ValueError:
        return None
    gaps = list(islice(_gaps(bytecode), len(code) // GAP_BYTES))
    return CompiledCode(code, _source_map(bytecode.source_map, len(code), source, number), gaps)


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
    places = {source.name: number for number, source in enumerate(sources) if source is not None}
    for file, contracts in output.contracts.items():
        shown = names.get(file, file)
        number = places.get(shown, -1)
        for name, contract in contracts.items():
            found = compiled_contract(
                name, shown, contract, sources, number, is_optimized=is_optimized
            )
            if found is not None:
                yield found


def _gaps(bytecode: Bytecode) -> Iterator[Gap]:
    for libraries in bytecode.link_references.values():
        for places in libraries.values():
            yield from (Gap(place.start, place.length) for place in places)
    for places in (bytecode.immutable_references or {}).values():
        yield from (Gap(place.start, place.length) for place in places)


def _source_map(
    given: msgspec.Raw, size: int, source: SourceFile | None, number: int
) -> str | PositionMap:
    """Return the map of a code of some bytes; what is malformed in it, or more than such a code can need, is left out."""
    try:
        found = _text_or_positions(given)
    except (ValueError, RecursionError):
        return ""
    if isinstance(found, str):
        return found[: MIN_MAP + size * MAP_BYTES]
    return _position_map(found or {}, size, source, number)


def _position_map(
    found: Mapping[str, Any], size: int, source: SourceFile | None, number: int
) -> PositionMap:
    spans = {}
    if source is not None:
        for pc, position in _by_offset(found, "pc_pos_map", size):
            match position:
                case [int(line), int(column), int(end_line), int(end_column)]:
                    start, end = source.offset(line, column), source.offset(end_line, end_column)
                    spans[pc] = Span(start, end - start, number)
    jumps = {
        pc: jump for pc, jump in _by_offset(found, "pc_jump_map", size) if isinstance(jump, str)
    }
    checks = {
        pc: check for pc, check in _by_offset(found, "error_map", size) if isinstance(check, str)
    }
    return PositionMap(spans, jumps, checks)


def _by_offset(found: Mapping[str, Any], name: str, size: int) -> Iterator[tuple[int, Any]]:
    entries = found.get(name)
    if isinstance(entries, dict):
        for pc, entry in entries.items():
            if pc.isdecimal() and len(pc) <= MAX_NUMBER_DIGITS and int(pc) < size:
                yield int(pc), entry
