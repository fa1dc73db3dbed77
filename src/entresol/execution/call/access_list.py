"""`eth_createAccessList`: the accounts and slots that a transaction touches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec

from entresol._native import ExecutionResult, Tracer
from entresol.execution.call.call import CallRequest, call_tx_env, gas_for, run_tx_env
from entresol.execution.call.limits import DEFAULT_LIMITS, CallBudget, CallLimits
from entresol.execution.evm_env import EvmEnv
from entresol.execution.reverts import failure_of
from entresol.primitives.transactions import Access
from entresol.primitives.values import Address, Hash32

_TRACER: Final = Tracer(b'{"ownTracer": "accessListTracer"}')

Touched: TypeAlias = dict[Address, set[Hash32]]


class CreatedAccessList(msgspec.Struct, frozen=True):
    """An access list, the gas that the transaction uses with it, and its error if it fails."""

    access_list: tuple[Access, ...]
    gas_used: int
    error: str | None


class _TracedAccess(msgspec.Struct, rename="camel"):
    address: str
    storage_keys: list[str]


_DECODER: Final = msgspec.json.Decoder(list[_TracedAccess])


def create_access_list(
    evm_env: EvmEnv, request: CallRequest, limits: CallLimits = DEFAULT_LIMITS
) -> CreatedAccessList:
    """Return what `request` touches beside sender, target and precompiles.

    Entries that it already declares stay in the list. An access list changes gas costs, and with
    them what a contract touches, so the call is repeated until a run touches nothing new.
    """
    budget = CallBudget(limits)
    gas = gas_for(evm_env, request, limits.gas_cap)
    touched = _declared(request.access_list or ())
    while True:
        access_list = _sorted(touched)
        listed = msgspec.structs.replace(request, access_list=access_list)
        result = run_tx_env(
            evm_env, listed, call_tx_env(evm_env, listed, gas), budget.left(), _TRACER
        )
        budget.spend(result)
        if not _extend(touched, result):
            failure = failure_of(result)
            error = None if failure is None else str(failure)
            return CreatedAccessList(access_list, result.gas_used, error)


def _declared(access_list: Iterable[Access]) -> Touched:
    touched: Touched = {}
    for access in access_list:
        touched.setdefault(access.account, set()).update(access.slots)
    return touched


def _extend(touched: Touched, result: ExecutionResult) -> bool:
    """Add what a run touched; return whether any of it was new."""
    before = sum(1 + len(slots) for slots in touched.values())
    for access in _DECODER.decode(result.trace or b"[]"):
        slots = touched.setdefault(Address.parse(access.address), set())
        slots.update(map(Hash32.parse, access.storage_keys))
    return sum(1 + len(slots) for slots in touched.values()) > before


def _sorted(touched: Touched) -> tuple[Access, ...]:
    return tuple(Access(account, tuple(sorted(touched[account]))) for account in sorted(touched))
