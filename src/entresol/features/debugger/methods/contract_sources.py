"""Methods that read the sources of contracts: `entresol_getStackTrace`, `entresol_getContracts`, `hardhat_addCompilationResult`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import (
    BlockNotFound,
    DeadlinePassed,
    InvalidTransaction,
    MalformedValue,
    NotInspectable,
    TransactionNotFound,
)
from entresol.execution.evm_env import code_of
from entresol.features.debugger.models.contract_sources import (
    FailureTrace,
    KnownContract,
    failure_trace,
    known_contracts,
)
from entresol.features.debugger.sources.compiler_json import CompilerInput, CompilerOutput
from entresol.offload import Offload
from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.method import Past, method
from entresol.rpc.types.block_id import LATEST, BlockId, TransactionHash
from entresol.rpc.types.call_request import CallObject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from msgspec import Raw

    from entresol.features.debugger.sources.compiled import CompiledContract
    from entresol.features.debugger.sources.registry import SourceRegistry
    from entresol.features.debugger.stack_traces import StackTraces
    from entresol.primitives.values import Address
    from entresol.rpc.services.trace_runner import TraceRunner
    from entresol.rpc.types.block_id import BlockId


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


MAX_ADDRESSES: Final = 100
"""Accounts of a request."""


class EntresolStackTraces:
    """`entresol_` methods that say where in the source something failed."""

    prefix = "entresol"

    def __init__(self, stack_traces: StackTraces) -> None:
        self._stack_traces = stack_traces

    @method(TransactionNotFound, NotInspectable, DeadlinePassed, past=Past.REPLAY)
    def get_stack_trace(self, hash: TransactionHash) -> Offload[FailureTrace | None]:
        """Return where in the source a sealed transaction failed.

        Null if it succeeded, or if no contract that failed has a known source.
        """
        trace = self._stack_traces.of_transaction(hash)
        return Offload(lambda: failure_trace(trace()))

    @method(BlockNotFound, NotInspectable, InvalidTransaction, DeadlinePassed, past=Past.EXECUTE)
    def get_call_stack_trace(
        self, transaction: CallObject, block: BlockId = LATEST
    ) -> Offload[FailureTrace | None]:
        """Return where in the source a call on the state after a block fails.

        Null if it succeeds, or if no contract that fails has a known source.
        """
        trace = self._stack_traces.of_call(transaction, block)
        return Offload(lambda: failure_trace(trace()))


class EntresolContracts:
    """`entresol_` methods that say whose code is on the chain."""

    prefix = "entresol"

    def __init__(self, contracts: KnownContracts) -> None:
        self._contracts = contracts

    @method(BlockNotFound, NotInspectable, past=Past.EXECUTE)
    def get_contracts(
        self, addresses: list[Address], block: BlockId = LATEST
    ) -> Offload[list[KnownContract | None]]:
        """Return the names and ABIs of up to 100 accounts after a block, from the sources whose code they have.

        Null for an account without code, and for code of no known source. Metadata, immutables and addresses of
        libraries may differ from the compiler's.
        """
        if len(addresses) > MAX_ADDRESSES:
            raise MalformedValue(f"addresses: at most {MAX_ADDRESSES}, got {len(addresses):,}")
        contracts = self._contracts.at(addresses, block)
        return Offload(lambda: known_contracts(contracts()))


class HardhatSources:
    """The uploads of Hardhat for its stack traces."""

    prefix = "hardhat"

    def __init__(self, sources: SourceRegistry) -> None:
        self._sources = sources

    async def _add_long(self, params: Raw) -> bool:
        from entresol.features.debugger.uploads import read_upload  # noqa: PLC0415

        self._sources.add(await read_upload(params))
        return True

    @method(long=_add_long)
    def add_compilation_result(
        self,
        version: str,  # noqa: ARG002 - the maps of all versions are read alike
        input: CompilerInput,
        output: CompilerOutput,
    ) -> Offload[bool]:
        """Add the contracts of a compilation, of solc or Vyper, for stack traces; return true.

        Input and output are those of standard JSON, with sources, codes and source maps. Stack traces of contracts that
        several compilations have are by the latest one. An equal compilation replaces itself. What describes a code is
        left out if it is much longer than such a code needs: a source of more than 2 MiB, an ABI or a storage layout of
        more than 128 KiB and a byte for each four of code. The node forgets them when it stops, and the oldest
        compilations once there are more than 50,000 contracts or 128 MiB in memory.
        """

        def work() -> bool:
            from entresol.features.debugger.sources.compilation import compilation_of  # noqa: PLC0415

            self._sources.add(compilation_of(output, input))
            return True

        return Offload(work)
