"""`eth_simulateV1`: simulate blocks of calls on top of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Raw

from entresol.errors import (
    BlockNotFound,
    DuplicatePrecompileMove,
    EmptySimulation,
    InvalidOverride,
    InvalidParams,
    PrecompileMovedToSelf,
    SimulatedCallRejected,
    SimulatedNumberTooLow,
    SimulatedTimeTooLow,
    SimulationGasSpent,
    SimulationTooLong,
)
from entresol.execution.simulation import simulate
from entresol.offload import POLICY, Offload
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.models.chain_objects import SimulatedBlockInfo
from entresol.rpc.services.simulation_base import past_simulation_base, simulation_base
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.rpc.types.simulation_request import BlockStateCalls, SimulationPayload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.execution.limits import CallLimits
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner
    from entresol.rpc.types.call_request import CallObject


class EthSimulate:
    """Simulated blocks."""

    prefix = "eth"

    def __init__(self, chain: Chain, resolver: BlockResolver, runner: CallRunner) -> None:
        self._chain = chain
        self._resolver = resolver
        self._runner = runner

    @method(
        EmptySimulation,
        InvalidOverride,
        BlockNotFound,
        SimulatedCallRejected,
        SimulatedNumberTooLow,
        SimulatedTimeTooLow,
        PrecompileMovedToSelf,
        DuplicatePrecompileMove,
        SimulationTooLong,
        SimulationGasSpent,
        InvalidParams,
        served_by=ServedBy.BLOCK,
        past=Past.EXECUTE,
    )
    def simulate_v1(
        self, payload: SimulationPayload, block: BlockId = LATEST
    ) -> Annotated[Raw, list[SimulatedBlockInfo]] | Offload[Raw]:
        """Simulate blocks of calls on top of a block, and return them with the results of the calls."""
        past = self._resolver.past(block)
        if past is None:
            base = simulation_base(self._chain, self._resolver.inspected(block))
        else:
            base = past_simulation_base(self._chain, past)
        wanted = payload.block_state_calls or ()
        self._runner.check_calls(sum(len(block.calls or ()) for block in wanted))
        self._runner.check_block_overrides(*(block.block_overrides for block in wanted))
        overrides = self._runner.check_overrides(*(block.state_overrides for block in wanted))

        def run(limits: CallLimits) -> Raw:
            blocks = [block.block_calls() for block in wanted]
            return Raw(simulate(base, blocks, payload.options(), limits))

        is_short = overrides <= POLICY.overrides and _are_short(wanted)
        return self._runner.run(run, is_short=is_short)


def _are_short(wanted: Sequence[BlockStateCalls]) -> bool:
    """Say whether blocks may be simulated on the event loop; an override of a number adds empty ones before it."""
    calls = [call for block in wanted for call in block.calls or ()]
    return (
        len(wanted) + len(calls) <= POLICY.simulated_items
        and all(block.block_overrides is None for block in wanted)
        and all(_is_short(call) for call in calls)
    )


def _is_short(call: CallObject) -> bool:
    has_lists = call.access_list or call.authorization_list
    return not has_lists and call.data_size <= POLICY.data_bytes
