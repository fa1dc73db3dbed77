"""Known contracts, by the code that is on a chain."""

from __future__ import annotations

import logging
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final, Self

from entresol._native import keccak256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from entresol.sources.compiled import CompiledContract

log = logging.getLogger(__name__)

MAX_FOUND: Final = 4_096
"""Codes whose contract is remembered."""

MAX_ADDED: Final = 50_000
"""Contracts that requests may add; the oldest are forgotten."""


class SourceRegistry:
    """The contracts of folders, which are read when one is needed first, and those that clients add.

    Remembers: contracts, and which one the last codes were. Persists: nothing.
    Assumes: `find` is called on a thread that may read files. Fails: never; a file that is no output is logged.
    """

    def __init__(self, load: Callable[[], Iterable[CompiledContract]] | None = None) -> None:
        self._load = load
        self._contracts: list[CompiledContract] = []
        self._added: list[CompiledContract] = []
        self._found: OrderedDict[tuple[bool, bytes], CompiledContract | None] = OrderedDict()
        self._lock = Lock()

    @classmethod
    def of_paths(cls, paths: Sequence[str]) -> Self:
        """Return the contracts of files and folders, which are read later; raise `InvalidConfig` if one is not there."""
        if not paths:
            return cls()
        # Nodes without sources do not need it.
        from entresol.sources.folders import check_paths, read_contracts  # noqa: PLC0415

        check_paths(paths)
        return cls(lambda: read_contracts(paths))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to find, and nothing to read."""
        return self._load is None and not self._contracts and not self._added

    def add(self, contracts: Iterable[CompiledContract]) -> None:
        """Add contracts; they are found before those that were added earlier."""
        with self._lock:
            self._added = [*contracts, *self._added][:MAX_ADDED]
            self._found.clear()

    def find(self, code: bytes, *, is_creation: bool = False) -> CompiledContract | None:
        """Return the contract that was deployed as `code`, or that `code` creates, with its arguments."""
        if not code or self.is_empty:
            return None
        key = is_creation, keccak256(code)
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
            self._read()
            found = self._search(code, is_creation=is_creation)
            self._found[key] = found
            if len(self._found) > MAX_FOUND:
                self._found.popitem(last=False)
            return found

    def _read(self) -> None:
        load, self._load = self._load, None
        if load is not None:
            self._contracts = list(load())
            log.info("the sources of %d contracts were read", len(self._contracts))

    def _search(self, code: bytes, *, is_creation: bool) -> CompiledContract | None:
        best, size = None, 0
        for contracts in (self._added, self._contracts):
            for it in contracts:
                compiled = it.creation if is_creation else it.deployed
                if compiled is None or len(compiled.code) <= size:
                    continue
                if compiled.starts(code) if is_creation else compiled.is_deployed_as(code):
                    best, size = it, len(compiled.code)
        return best
