"""Known contracts, by the code that is on a chain."""

from __future__ import annotations

import logging
from collections import OrderedDict
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Final, Self

from entresol._native import keccak256
from entresol.contracts.abi_registry import AbiRegistry
from entresol.features.debugger.sources.compiled import AddedContracts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from entresol.features.debugger.sources.compiled import Compilation, CompiledContract


log = logging.getLogger(__name__)

MAX_FOUND: Final = 4_096

LOOK_SECONDS: Final = 2.0
"""How often is looked whether files have changed, while there are codes that are not found."""

_NEVER: Final = object()


class SourceRegistry:
    """The contracts of folders, which are read when one is needed first and after they have changed, and of clients.

    Assumes: `find` is called on a thread that may read files. Fails: never; a file that is not an output is logged.
    """

    def __init__(
        self,
        load: Callable[[], Iterable[CompiledContract]] | None = None,
        stamp: Callable[[], object] = lambda: None,
    ) -> None:
        """Read contracts by `load`, and again once `stamp` is another one and a code is not found."""
        self._load = load
        self._stamp = stamp
        self._read_stamp: object = _NEVER
        self._next_look = 0.0
        self._contracts: list[CompiledContract] = []
        self._added = AddedContracts()
        self._version = 0
        self._found: OrderedDict[tuple[bool, bytes], CompiledContract | None] = OrderedDict()
        self._abis: tuple[int, AbiRegistry] = -1, AbiRegistry()
        self._lock = Lock()
        self._reading = Lock()
        """Held while folders are read; codes that were found before do not wait for it."""

    @classmethod
    def of_paths(cls, paths: Sequence[str]) -> Self:
        """Return the contracts of files and folders, which are read later; raise `InvalidConfig` if one is not there."""
        if not paths:
            return cls()
        # Nodes without sources do not need it.
        from entresol.features.debugger.sources.folders import check_paths, stamp_of  # noqa: PLC0415
        from entresol.features.debugger.sources.reading_process import contracts_of_paths  # noqa: PLC0415

        check_paths(paths)
        return cls(lambda: contracts_of_paths(paths), lambda: stamp_of(paths))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to find, and nothing to read."""
        return self._load is None and not self._contracts and not self._added

    def add(self, compilation: Compilation) -> None:
        """Add contracts; they are found before those that were added earlier."""
        with self._lock:
            self._added.add(compilation)
            self._version += 1
            self._found.clear()

    def take_added(self, before: Self) -> None:
        """Have the contracts, too, that were added to another one."""
        with self._lock:
            self._added = before._added
            self._version += 1
            self._found.clear()

    def version(self) -> int:
        """Return a number that is another one once contracts were added, or folders read again because they changed."""
        self._read_again()
        return self._version

    def abis(self) -> AbiRegistry:
        """Return the ABIs of all contracts, those that were added last first."""
        version = self.version()
        with self._lock:
            if self._abis[0] != version:
                contracts = (*self._added, *self._contracts)
                self._abis = (
                    version,
                    AbiRegistry.of(contract.decoded_abi() for contract in contracts),
                )
            return self._abis[1]

    def find(self, code: bytes, *, is_creation: bool = False) -> CompiledContract | None:
        """Return the contract that was deployed as `code`, or that `code` creates, with its arguments."""
        if not code or self.is_empty:
            return None
        key = is_creation, keccak256(code)
        with self._lock:
            if (found := self._found.get(key)) is not None:
                self._found.move_to_end(key)
                return found
        self._read_again()
        with self._lock:
            if key not in self._found:
                self._found[key] = self._search(code, is_creation=is_creation)
            self._found.move_to_end(key)
            found = self._found[key]
            if len(self._found) > MAX_FOUND:
                self._found.popitem(last=False)
            return found

    def _read_again(self) -> None:
        if self._load is None:
            return
        with self._reading:
            now = monotonic()
            if now < self._next_look:
                return
            self._next_look = now + LOOK_SECONDS
            try:
                stamp = self._stamp()
                if stamp == self._read_stamp:
                    return
                contracts = list(self._load())
            except (OSError, ValueError, RecursionError) as error:
                log.warning("sources are not read: %s; those that were read before stay", error)
                return
            self._read_stamp = stamp
            with self._lock:
                self._contracts = contracts
                self._version += 1
                self._found.clear()
            log.info("the sources of %d contracts were read", len(contracts))

    def _search(self, code: bytes, *, is_creation: bool) -> CompiledContract | None:
        best, size = None, 0
        for contracts in (self._added, self._contracts):
            for contract in contracts:
                compiled = contract.creation if is_creation else contract.deployed
                if compiled is None or len(compiled.code) <= size:
                    continue
                if compiled.starts(code) if is_creation else compiled.is_deployed_as(code):
                    best, size = contract, len(compiled.code)
        return best
