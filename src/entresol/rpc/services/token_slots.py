"""Find the storage slot of a token that holds a balance or an allowance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import DeadlinePassed, EntresolError, NotEvmCode, RemoteFailed, StateMissing
from entresol.execution.call.access_list import create_access_list
from entresol.execution.call.call import CallRequest, call
from entresol.execution.call.overrides import StateOverride, override
from entresol.primitives.values import Hash32
from entresol.rpc.types.block_id import LATEST
from entresol.state_missing import work_clock

if TYPE_CHECKING:
    from entresol.execution.call.limits import CallLimits
    from entresol.execution.evm_env import EvmEnv
    from entresol.primitives.values import Address
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner
    from entresol.rpc.threads.client_threads import Threads

MAX_SLOTS: Final = 256
"""How many slots are tried; a token reads a few."""


class TokenSlots:
    """Finds slots on the latest state, on a thread."""

    def __init__(self, resolver: BlockResolver, runner: CallRunner, threads: Threads) -> None:
        self._resolver = resolver
        self._runner = runner
        self._threads = threads

    async def find(self, token: Address, query: bytes, value: Hash32) -> Hash32 | None:
        """Return the slot that makes the call `query` to the token return `value`; None if there is none."""
        evm_env = self._resolver.evm_env(LATEST)
        request = CallRequest(to=token, data=query)
        search = self._runner.offload(lambda limits: _search(evm_env, request, value, limits))
        return await self._threads.run(search.work)


def _search(
    evm_env: EvmEnv, request: CallRequest, value: Hash32, limits: CallLimits
) -> Hash32 | None:
    """Try each slot of the token that the call reads, all within the time of one call."""
    end = None if limits.seconds is None else work_clock() + limits.seconds
    token = request.to
    assert token is not None
    try:
        touched = create_access_list(evm_env, request, limits).access_list
    except (NotEvmCode, RemoteFailed, StateMissing):
        raise
    except EntresolError:
        return None
    slots = [Hash32(slot) for account, slots in touched if account == token for slot in slots]
    for slot in slots[:MAX_SLOTS]:
        if end is not None:
            limits = msgspec.structs.replace(limits, seconds=max(end - work_clock(), 0.001))
        changed = override(evm_env, {token: StateOverride(state_diff={slot: value})})
        try:
            if call(changed, request, limits)[: Hash32.size] == value:
                return slot
        except (DeadlinePassed, RemoteFailed, StateMissing):
            raise
        except EntresolError:
            continue
    return None
