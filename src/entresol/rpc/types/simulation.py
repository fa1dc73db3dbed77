"""The payload of `eth_simulateV1`: blocks of calls with their overrides, and options."""

from __future__ import annotations

from entresol.execution.call.overrides import BlockOverrides
from entresol.execution.simulation import BlockCalls, SimulationOptions
from entresol.rpc.jsonrpc.codec import JsonModel
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.overrides import BlockOverride, StateOverrides, state_overrides


class BlockStateCalls(JsonModel, frozen=True, kw_only=True):
    """One block to simulate: its calls and overrides."""

    block_overrides: BlockOverride | None = None
    state_overrides: StateOverrides | None = None
    calls: list[CallObject] | None = None

    def block_calls(self) -> BlockCalls:
        """Return the domain value."""
        block = self.block_overrides
        return BlockCalls(
            calls=tuple(call.request() for call in self.calls or ()),
            accounts=state_overrides(self.state_overrides),
            block=BlockOverrides() if block is None else block.override(),
        )


class SimulationPayload(JsonModel, frozen=True, kw_only=True):
    """Blocks to simulate, and options."""

    block_state_calls: list[BlockStateCalls] | None = None
    trace_transfers: bool | None = None
    validation: bool | None = None
    return_full_transactions: bool | None = None

    def options(self) -> SimulationOptions:
        """Return the domain value."""
        return SimulationOptions(
            validation=bool(self.validation),
            trace_transfers=bool(self.trace_transfers),
            full_transactions=bool(self.return_full_transactions),
        )
