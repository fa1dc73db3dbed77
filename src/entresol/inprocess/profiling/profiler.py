"""Profiles a devnet: counts what the contracts of its chains do in sealed transactions and in calls."""

from __future__ import annotations

import logging
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.chain.events import BlockSealed, Event
from entresol.errors import EntresolError, MalformedValue
from entresol.execution.overrides import override
from entresol.execution.profile import PROFILE, Profile, decode_profile
from entresol.execution.tracing import TraceBudget, TraceLimits, trace_call
from entresol.features.debugger.sources.profile.totals import ProfileTotals, block_profiles
from entresol.rpc.jsonrpc.codec import convert
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.simulation_request import BlockOverride, StateOverrides, state_overrides

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.node.api.services import ApiServices
    from entresol.node.chain_service import ChainService

log = logging.getLogger(__name__)

CALL, ESTIMATE = "eth_call", "eth_estimateGas"

SUCCESS: Final = "success"
LIMITS: Final = TraceLimits(seconds=10.0)
"""For one execution that is run again; one that takes longer is left out."""


class ProfiledRequest(msgspec.Struct):
    """A request's method and parameters."""

    method: str = ""
    params: list[Any] | dict[str, Any] | None = None


_decode: Final = msgspec.json.Decoder(ProfiledRequest | list[ProfiledRequest]).decode


class Profiler:
    """Executes what a devnet executes once more, and counts it: sealed transactions, and calls of clients in this process.

    An estimate is counted only if it fails: otherwise its transaction follows.
    Remembers: what was counted, within limits. Fails: never; what cannot be executed again is left out and counted.
    Assumes: that devnets may share it, each on its own thread.
    """

    def __init__(self) -> None:
        self.totals = ProfileTotals()
        self._lock = Lock()

    def follow(self, chain: Chain) -> None:
        """Count the transactions of a chain from now on."""

        def on_event(event: Event) -> None:
            if isinstance(event, BlockSealed) and event.header.gas_used:
                self._block(chain, event.number)

        chain.events.listen(on_event, BlockSealed)

    def on_request(self, service: ChainService, body: bytes) -> None:
        """Count the calls of a request or a batch, before the chain executes them."""
        if CALL.encode() not in body and ESTIMATE.encode() not in body:
            return
        try:
            decoded = _decode(body)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return
        for request in decoded if isinstance(decoded, list) else [decoded]:
            if request.method in (CALL, ESTIMATE) and isinstance(request.params, list):
                is_estimate = request.method == ESTIMATE
                self._call(service.api.services, request.params, is_estimate=is_estimate)

    def _block(self, chain: Chain, number: int) -> None:
        budget = TraceBudget(LIMITS)
        try:
            for block_profile in block_profiles(chain.ledger.sealed_block(number), budget):
                if block_profile is None:
                    self._leave_out()
                else:
                    self._add(*block_profile)
        except EntresolError as error:
            log.debug("block %d is not profiled: %s", number, error)
            self._leave_out()

    def _call(self, services: ApiServices, params: list[Any], *, is_estimate: bool) -> None:
        call, block, state, fields = (params + [None] * 4)[:4]
        try:
            request = convert(call, CallObject).request()
            named = LATEST if block is None else convert(block, BlockId)
            env = override(services.resolver.evm_env(named), *_overrides(state, fields))
            cap = services.runner.gas_cap
            ran = trace_call(env, request, PROFILE, TraceBudget(LIMITS), cap)
        except MalformedValue:
            # The method says what is wrong with it.
            return
        except EntresolError as error:
            log.debug("a call is not profiled: %s", error)
            self._leave_out()
            return
        if not is_estimate or ran.status != SUCCESS:
            assert ran.trace is not None
            self._add(decode_profile(ran.trace), ran.gas_used)

    def _add(self, profile: Profile, gas_used: int) -> None:
        with self._lock:
            self.totals.add(profile, gas_used)

    def _leave_out(self) -> None:
        with self._lock:
            self.totals.leave_out()


def _overrides(state: Any, block: Any) -> tuple[Any, Any]:
    accounts = None if state is None else convert(state, StateOverrides)
    fields = None if block is None else convert(block, BlockOverride).override()
    return state_overrides(accounts), fields
