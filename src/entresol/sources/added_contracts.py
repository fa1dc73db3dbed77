"""The contracts that clients have added, as many as there is room for."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from entresol.sources.compiled import CompiledContract

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
