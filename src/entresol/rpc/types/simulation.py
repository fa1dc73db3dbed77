"""The payload of `eth_simulateV1`: blocks of calls with their overrides, and options."""

from __future__ import annotations

from typing import Annotated

from entresol.execution.call.overrides import BlockOverrides
from entresol.execution.simulation import BlockCalls, SimulationOptions
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.overrides import BlockOverride, StateOverrides, state_overrides


class BlockStateCalls(JsonModel, frozen=True, kw_only=True):
    """One block to simulate: its calls and overrides."""

    block_overrides: Annotated[BlockOverride | None, says("What differs in the block.")] = None
    state_overrides: Annotated[
        StateOverrides | None, says("What differs in accounts, by address.")
    ] = None
    calls: Annotated[list[CallObject] | None, says("What runs in the block, in order.")] = None

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

    block_state_calls: Annotated[
        list[BlockStateCalls] | None, says("The blocks to simulate, in order.")
    ] = None
    trace_transfers: Annotated[
        bool | None, says("Whether transfers of ether are among the logs.")
    ] = None
    validation: Annotated[bool | None, says("Whether nonces, balances, fees are checked.")] = None
    return_full_transactions: Annotated[
        bool | None, says("Whether blocks have whole transactions in place of hashes.")
    ] = None

    def options(self) -> SimulationOptions:
        """Return the domain value."""
        return SimulationOptions(
            validation=bool(self.validation),
            trace_transfers=bool(self.trace_transfers),
            full_transactions=bool(self.return_full_transactions),
        )
