"""The names that sources give: of contracts by their code, and of what these are called with and emit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.primitives.values import Address, Data
from entresol.sources.walk import CALLS, CREATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.contracts.abi_registry import AbiRegistry
    from entresol.execution.call_frames import CallFrame
    from entresol.sources.compiled import CompiledContract
    from entresol.sources.registry import SourceRegistry


class SourceNames:
    """Finds contracts, and what to decode their data by: their own ABI, those of all sources, then others.

    Remembers: the contracts of accounts. Assumes: a thread, since folders may have to be read. Fails: as `code_of` does.
    """

    def __init__(
        self, sources: SourceRegistry, others: AbiRegistry, code_of: Callable[[Address], bytes]
    ) -> None:
        self._sources = sources
        self._code_of = code_of
        self._all = others if sources.is_empty else sources.abis().over(others)
        self._known: dict[str, CompiledContract | None] = {}

    def contract(self, account: str) -> CompiledContract | None:
        """Return the contract that an account is; None if its source is not known."""
        if account not in self._known:
            self._known[account] = self._sources.find(self._code_of(Address.parse(account)))
        return self._known[account]

    def created(self, code: bytes) -> CompiledContract | None:
        """Return the contract that a code creates, with its arguments."""
        return self._sources.find(code, is_creation=True)

    def of_frame(self, frame: CallFrame) -> CompiledContract | None:
        """Return the contract whose code a frame runs; one that was created counts from then on."""
        if frame.to is None or frame.type not in CALLS | CREATIONS or self._sources.is_empty:
            return None
        if frame.type in CREATIONS and frame.to not in self._known:
            created = self.created(bytes(Data.parse(frame.input)))
            if created is not None:
                self._known[frame.to] = created
        return self.contract(frame.to)

    def abis(self, contract: CompiledContract | None) -> AbiRegistry:
        """Return what to decode the data of a contract by."""
        return self._all if contract is None else contract.abis.over(self._all)
