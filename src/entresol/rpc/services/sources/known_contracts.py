"""Find the contracts of accounts among the known sources, by their code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import NotInspectable
from entresol.execution.evm_env import code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.primitives.values import Address
    from entresol.rpc.services.trace_runner import TraceRunner
    from entresol.rpc.types.block_id import BlockId
    from entresol.sources.compiled import CompiledContract
    from entresol.sources.registry import SourceRegistry


class KnownContracts:
    """Contracts of one chain whose source is known.

    Fails: with `NotInspectable`, or as blocks are not found.
    """

    def __init__(self, traces: TraceRunner, sources: SourceRegistry) -> None:
        self._traces = traces
        self._sources = sources

    def at(
        self, addresses: Sequence[Address], block: BlockId
    ) -> Callable[[], list[CompiledContract | None]]:
        """Return the work of finding what accounts are after a block; None if their code is of no known source."""
        if self._sources.is_empty:
            raise NotInspectable(
                "the node knows no sources: start it with --sources, or send hardhat_addCompilationResult"
            )
        env_of = self._traces.env(block)

        def work() -> list[CompiledContract | None]:
            state = env_of().state
            return [self._sources.find(code_of(state, address)) for address in addresses]

        return work
