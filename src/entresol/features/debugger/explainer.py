"""Explain transactions and calls in the log by the sources of contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol.execution.tracing import SealedBlock, TraceBudget, TraceLimits
from entresol.features.debugger.sources.steps import MAX_STEP_BYTES
from entresol.features.debugger.sources.walk import CALLS, CREATIONS
from entresol.features.debugger.stack_traces import failure_of_transaction
from entresol.primitives.values import Address, Data
from entresol.terminal.explainer import NamedContract

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.contracts.abi_registry import AbiRegistry
    from entresol.execution.call_frames import CallFrame
    from entresol.features.debugger.sources.compiled import CompiledContract
    from entresol.features.debugger.sources.registry import SourceRegistry
    from entresol.terminal.explainer import AskNode


class _StackTrace(msgspec.Struct):
    text: list[str]


_stack_trace: Final = msgspec.json.Decoder(_StackTrace | None).decode


class SourceExplainer:
    """Names contracts whose source is known, and finds where in it something failed.

    Fails: as execution does, and `code_of`.
    """

    def __init__(self, sources: SourceRegistry) -> None:
        self._sources = sources

    @property
    def is_empty(self) -> bool:
        """Whether no source is known yet."""
        return self._sources.is_empty

    def names(self, others: AbiRegistry, code_of: Callable[[Address], bytes]) -> SourceNames:
        """Return the names of the contracts with some codes; other data is decoded by the ABIs `others`."""
        return SourceNames(self._sources, others, code_of)

    def failed_transaction(self, block: SealedBlock, index: int, seconds: float) -> Sequence[str]:
        """Return where the transaction at `index` of a block failed, without the reason."""
        limits = TraceLimits(max_bytes=2 * MAX_STEP_BYTES, seconds=seconds)
        trace = failure_of_transaction(self._sources, block, index, lambda: TraceBudget(limits))
        return () if trace is None else trace.lines()

    async def failed_call(self, params: Sequence[msgspec.Raw], ask: AskNode) -> Sequence[str]:
        """Return the stack trace of a call that fails, as the node has it for clients."""
        trace = _stack_trace(await ask("entresol_getCallStackTrace", params))
        return () if trace is None else trace.text


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

    def at(self, account: str) -> NamedContract:
        """Return the contract that an account is."""
        return self._named(self._contract(account))

    def _contract(self, account: str) -> CompiledContract | None:
        if account not in self._known:
            self._known[account] = self._sources.find(self._code_of(Address.parse(account)))
        return self._known[account]

    def created(self, code: bytes) -> NamedContract:
        """Return the contract that a code creates, with its arguments."""
        return self._named(self._sources.find(code, is_creation=True))

    def of_frame(self, frame: CallFrame) -> NamedContract:
        """Return the contract whose code a frame runs; one that was created counts from then on."""
        return self._named(self._of_frame(frame))

    def _of_frame(self, frame: CallFrame) -> CompiledContract | None:
        if frame.to is None or frame.type not in CALLS | CREATIONS or self._sources.is_empty:
            return None
        if frame.type in CREATIONS and frame.to not in self._known:
            created = self._sources.find(bytes(Data.parse(frame.input)), is_creation=True)
            if created is not None:
                self._known[frame.to] = created
        return self._contract(frame.to)

    def _named(self, contract: CompiledContract | None) -> NamedContract:
        if contract is None:
            return NamedContract(None, self._all)
        return NamedContract(contract.name, contract.abis.over(self._all))
