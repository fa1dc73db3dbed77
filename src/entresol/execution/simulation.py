"""`eth_simulateV1`: what is simulated on top of which block; the crate executes and renders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from entresol import _native
from entresol._native import Rules, Trie
from entresol.errors import ExecutionReverted
from entresol.execution import overrides
from entresol.execution.calls import CallRequest
from entresol.execution.evm_env import State
from entresol.execution.limits import DEFAULT_LIMITS, CallLimits
from entresol.execution.overrides import BlockOverrides, StateOverride
from entresol.primitives.headers import ForkFields, Header
from entresol.primitives.values import Address, Hash32

REVERTED: Final = 3
HALTED: Final = -32015

FAILURE_TEXTS: Final = (
    REVERTED,
    HALTED,
    str(ExecutionReverted(b"")),
    str(ExecutionReverted(b"", "")),
)
"""How calls that fail are reported: the codes of reverts and halts, the text of a revert, and what precedes its reason."""

NextBlock: TypeAlias = tuple[int, Hash32 | None, int | None, Hash32 | None, Hash32 | None]
"""The base fee of a block that is validated, and the fields that forks after London have added."""


class BlockCalls(msgspec.Struct, frozen=True, kw_only=True):
    """A requested block: its overrides and its calls."""

    calls: tuple[CallRequest, ...] = ()
    accounts: Mapping[Address, StateOverride] | None = None
    block: BlockOverrides = BlockOverrides()


class SimulationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Whether transactions are validated, whether ETH transfers appear among the logs, and how much is shown."""

    validation: bool = False
    trace_transfers: bool = False
    full_transactions: bool = False


class SimulationBase(msgspec.Struct, frozen=True, kw_only=True):
    """The block that a simulation builds on, and the rules of its chain."""

    header: Header
    state: State
    rules: Rules
    state_root: Hash32
    trie: Trie
    next_base_fee: Callable[[Header], int]
    fork_fields: Callable[[Header], ForkFields] | None = None
    """The fields that forks after London have added; None if the chain has none."""
    interval: int = 1
    """The seconds between blocks, unless a block overrides its time."""

    def next_block(self, parent_rlp: bytes) -> NextBlock:
        """Return what the block after `parent_rlp` gets from its chain."""
        parent = Header.decode(parent_rlp)
        later = ForkFields() if self.fork_fields is None else self.fork_fields(parent)
        return (
            self.next_base_fee(parent),
            later.withdrawals_root,
            later.excess_blob_gas,
            later.parent_beacon_block_root,
            later.requests_hash,
        )


class _PreparedBase(msgspec.Struct, frozen=True):
    header_rlp: bytes
    state: State
    rules: Rules
    state_root: Hash32
    trie: Trie
    next_block: Callable[[bytes], NextBlock] | None
    interval: int


class _PreparedBlock(msgspec.Struct, frozen=True):
    calls: tuple[CallRequest, ...]
    accounts: dict[Address, StateOverride] | None
    precompiles: dict[bytes, bytes | None]
    block: BlockOverrides


class _PreparedSimulation(msgspec.Struct, frozen=True):
    blocks: list[_PreparedBlock]
    validation: bool
    trace_transfers: bool
    full_transactions: bool


def simulate(
    base: SimulationBase,
    blocks: Sequence[BlockCalls],
    options: SimulationOptions = SimulationOptions(),  # noqa: B008  # frozen
    limits: CallLimits = DEFAULT_LIMITS,
) -> bytes:
    """Execute the calls of `blocks` in order, each on the state that the previous one left; return them as JSON.

    The gas cap of `limits` applies to all calls together. A failed call is a result; a call that no block
    could include ends the simulation with `SimulatedCallRejected`.
    """
    simulation = _PreparedSimulation(
        [_prepare(block, base.rules) for block in blocks],
        options.validation,
        options.trace_transfers,
        options.full_transactions,
    )
    asks = options.validation or base.fork_fields is not None
    prepared = _PreparedBase(
        base.header.encode(),
        base.state,
        base.rules,
        base.state_root,
        base.trie,
        base.next_block if asks else None,
        base.interval,
    )
    return _native.simulate(
        prepared, simulation, limits.gas_cap, FAILURE_TEXTS, limits=limits.native()
    )


def _prepare(requested: BlockCalls, rules: Rules) -> _PreparedBlock:
    accounts = None if requested.accounts is None else dict(requested.accounts)
    overrides.check(accounts or {})
    moved = overrides.moved_precompiles(accounts or {}, rules)
    return _PreparedBlock(requested.calls, accounts, moved, requested.block)
