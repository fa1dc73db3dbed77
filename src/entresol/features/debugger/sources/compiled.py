"""A compiled contract: its codes, and how they are recognised on a chain."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from entresol.contracts.abi_registry import AbiRegistry
from entresol.features.debugger.sources.compiler_json import StorageLayout
from entresol.features.debugger.sources.source_map import PositionMap, SourceMap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from entresol.features.debugger.sources.source_file import SourceFile

OWN_BYTES: Final = 3_000
"""Bytes of memory of a contract without codes."""

DECODED_BYTES: Final = 32
"""Bytes of memory that a byte of JSON may become."""

MAPPED_BYTES: Final = 48
"""Bytes of memory that a byte of code may become, with its place in the source and what differs in it."""

_abi: Final = msgspec.json.Decoder(list[dict[str, Any]] | None).decode
_layout: Final[msgspec.json.Decoder[StorageLayout | None]] = msgspec.json.Decoder(
    StorageLayout | None
)

_LENGTH_SIZE: Final = 2
_MAX_METADATA: Final = 256
_CBOR_MAPS: Final = range(0xA1, 0xA8)
_VYPER_METADATA: Final = range(0x83, 0x88)
"""An array, in which Vyper has put sizes since 0.3.10."""

LIBRARY_START: Final = b"\x73" + bytes(20) + b"\x30\x14"
"""How a library begins: it compares its address, which its deployment writes, with that of the call."""


class Gap(NamedTuple):
    """Bytes of a code that differ from contract to contract: an immutable, or the address of a library."""

    start: int
    length: int


class CompiledCode:
    """A code as the compiler returned it, with the map to its source. Any thread may use it."""

    def __init__(
        self,
        code: bytes,
        source_map: str | PositionMap,
        gaps: Sequence[Gap] = (),
    ) -> None:
        self.code = code
        self._source_map = source_map
        if code.startswith(LIBRARY_START):
            gaps = (*gaps, Gap(1, 20))
        self._parts = _parts(code, gaps)

    @property
    def size(self) -> int:
        """The bytes of memory that it takes, with its map once that was needed."""
        text = self._source_map if isinstance(self._source_map, str) else ""
        return MAPPED_BYTES * len(self.code) + len(text)

    @cached_property
    def source_map(self) -> SourceMap | PositionMap:
        """The places of its instructions."""
        if isinstance(self._source_map, str):
            return SourceMap(self.code, self._source_map)
        return self._source_map

    def is_deployed_as(self, code: bytes) -> bool:
        """Return whether a code on a chain is this one; Vyper's is followed by its immutables."""
        if isinstance(self._source_map, str):
            # The metadata of another compilation may be shorter, or missing.
            own, other = (len(known) - metadata_size(known) for known in (self.code, code))
            return own == other and self._has_parts(code)
        return self.starts(code)

    def starts(self, data: bytes) -> bool:
        """Return whether data begins with the code, apart from gaps and metadata."""
        return len(data) >= len(self.code) and self._has_parts(data)

    def _has_parts(self, data: bytes) -> bool:
        return all(data.startswith(part, at) for at, part in self._parts)


class CompiledContract:
    """A contract of a compilation: its names, its ABI and its codes.

    Fails: never; what is malformed is not there. Any thread may use it.
    """

    def __init__(  # noqa: PLR0913 - a contract has as many parts
        self,
        name: str,
        file: str,
        abi: bytes,
        creation: CompiledCode | None,
        deployed: CompiledCode | None,
        sources: Sequence[SourceFile | None],
        *,
        is_optimized: bool | None = None,
        storage_layout: bytes = b"null",
    ) -> None:
        """Make a contract of ABI and storage layout as JSON, which take a tenth of the memory of what they say."""
        self.name = name
        self.file = file
        self._abi = abi
        self.creation = creation
        self.deployed = deployed
        self.sources = sources
        self.is_optimized = is_optimized
        """Whether instructions may have moved away from their lines; None if the settings are not known."""
        self._storage_layout = storage_layout

    @cached_property
    def abi(self) -> list[dict[str, Any]]:
        """Its functions, errors and events."""
        return self.decoded_abi()

    def decoded_abi(self) -> list[dict[str, Any]]:
        """Return its functions, errors and events, for who needs them once."""
        try:
            return _abi(self._abi) or []
        except (ValueError, RecursionError):
            return []

    @cached_property
    def storage_layout(self) -> StorageLayout | None:
        """Where its state variables are; None if it is not known."""
        try:
            return _layout.decode(self._storage_layout)
        except (ValueError, RecursionError):
            return None

    @property
    def size(self) -> int:
        """The bytes of memory that it takes, with all that may be decoded of it."""
        codes = sum(code.size for code in (self.creation, self.deployed) if code is not None)
        decoded = len(self._abi) + len(self._storage_layout)
        names = 4 * (len(self.name) + len(self.file))
        return OWN_BYTES + names + codes + DECODED_BYTES * decoded

    @cached_property
    def abis(self) -> AbiRegistry:
        """Its functions and errors, by their selectors."""
        return AbiRegistry.of([self.abi])

    def source(self, number: int) -> SourceFile | None:
        """Return a source by its number in the maps."""
        return self.sources[number] if 0 <= number < len(self.sources) else None

    @cached_property
    def own_source(self) -> SourceFile | None:
        """The source that defines it."""
        return next(
            (source for source in self.sources if source is not None and source.name == self.file),
            None,
        )


def metadata_size(code: bytes) -> int:
    """Return how many bytes at the end of a code are metadata, which differ with comments and paths."""
    if len(code) < _LENGTH_SIZE:
        return 0
    size = int.from_bytes(code[-_LENGTH_SIZE:])
    # solc does not count the length itself, Vyper does.
    for total in (size + _LENGTH_SIZE, size):
        if _LENGTH_SIZE < total <= min(len(code), _MAX_METADATA):
            first = code[-total]
            if first in _CBOR_MAPS or first in _VYPER_METADATA:
                return total
    return 0


def _parts(code: bytes, gaps: Sequence[Gap]) -> list[tuple[int, bytes]]:
    """Return the bytes between gaps, with where they start, without the metadata."""
    end, at, parts = len(code) - metadata_size(code), 0, []
    for gap in sorted(gaps):
        if gap.start > at:
            parts.append((at, code[at : min(gap.start, end)]))
        at = max(at, gap.start + gap.length)
    if at < end:
        parts.append((at, code[at:end]))
    return parts


MAX_ADDED: Final = 50_000
"""Contracts that requests may add; the oldest compilations are forgotten."""


MAX_ADDED_BYTES: Final = 128 << 20
"""Bytes of memory that the compilations may take which requests add."""


class Compilation(NamedTuple):
    """Contracts that were compiled together."""

    key: bytes
    """Equal for equal compilations: a hash."""
    size: int
    """The bytes of memory that it takes, with what is read of it later."""
    contracts: Sequence[CompiledContract]


class AddedContracts:
    """Contracts that were added, the latest compilation first.

    The latest one is always kept. Assumes: one thread at a time.
    """

    def __init__(self) -> None:
        self._compilations: OrderedDict[bytes, Compilation] = OrderedDict()
        self._count = 0
        self._bytes = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[CompiledContract]:
        for compilation in reversed(self._compilations.values()):
            yield from compilation.contracts

    def add(self, compilation: Compilation) -> None:
        """Add a compilation; an equal one is replaced."""
        self._remove(self._compilations.pop(compilation.key, None))
        self._compilations[compilation.key] = compilation
        self._count += len(compilation.contracts)
        self._bytes += compilation.size
        while self._is_full and len(self._compilations) > 1:
            self._remove(self._compilations.popitem(last=False)[1])

    @property
    def _is_full(self) -> bool:
        return self._count > MAX_ADDED or self._bytes > MAX_ADDED_BYTES

    def _remove(self, compilation: Compilation | None) -> None:
        if compilation is not None:
            self._count -= len(compilation.contracts)
            self._bytes -= compilation.size
