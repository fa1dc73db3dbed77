"""Requests that the crate responds to without Python: cached results, getters, plain reads."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from entresol._native import (
    AccountReads,
    BridgeEstimates,
    FeeHistory,
    Getter,
    NativeDispatcher,
    StateReads,
)
from entresol.cache_limits import CACHES
from entresol.primitives.values import Address, Hash32, Quantity
from entresol.rpc.jsonrpc.metrics import BUCKETS, Metrics
from entresol.rpc.jsonrpc.params import Parameter
from entresol.rpc.jsonrpc.served_method import Method

_KINDS: Final[dict[Any, str]] = {Hash32: "hash", Address: "address", bool: "boolean", str: "other"}
"""The parameters of getters, as the crate names them."""
_NUMBER, _NUMBER_BITS = "number", 64
"""Quantities of this width that may also be JSON integers are plain as such."""
_QUANTITIES: Final = {64: "quantity64", 256: "quantity"}
"""Numbers by their width, of which hex digits are plain, whatever else their type reads."""


class NativeReads(NamedTuple):
    """The readers of the crate for plain requests."""

    accounts: AccountReads
    state: StateReads
    fees: FeeHistory
    bridge: BridgeEstimates | None = None


def native_dispatcher(
    methods: Collection[Method], reads: NativeReads | None, *, batch: int, max_bytes: int
) -> NativeDispatcher:
    """Return the crate's dispatcher for `methods`, which are never forwarded while it is used.

    It recognises cached batches of at most `batch` calls, and responds in at most `max_bytes`.
    """
    return NativeDispatcher(
        capacity=CACHES.responses,
        batch=batch,
        bounds=BUCKETS,
        limits=CACHES,
        max_bytes=max_bytes,
        getters={method.name: _getter(method) for method in methods if method.is_getter},
        accounts=None if reads is None else reads.accounts,
        reads=None if reads is None else reads.state,
        fee_history=None if reads is None else reads.fees,
        bridge=None if reads is None else reads.bridge,
        read_methods=[method.name for method in methods if method.reads_natively],
    )


def _getter(method: Method) -> Getter:
    return Getter(
        method.function,
        [_kind(method, parameter) for parameter in method.parameters],
        required=sum(parameter.required for parameter in method.parameters),
        is_cached=method.is_cached,
    )


def _kind(method: Method, parameter: Parameter) -> str | Callable[[int | None], object]:
    """Return what a parameter of a getter is; a block is given by the function that makes it of a number."""
    hint = _without_none(parameter.hint)
    if isinstance(hint, type) and issubclass(hint, Quantity):
        takes_integers = "integer" in getattr(hint, "json_schema", {}).get("type", ())
        return _NUMBER if takes_integers and hint.bits == _NUMBER_BITS else _QUANTITIES[hint.bits]
    if get_origin(hint) is Literal:
        return _KINDS[str]
    kind = _KINDS.get(hint) or getattr(hint, "at", None)
    if kind is None:
        raise TypeError(f"{method.name} cannot be a getter, because of {parameter.name}")
    return kind


def _without_none(hint: Any) -> Any:
    """Return what a parameter is if it is given, and not null, which is left to Python."""
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if get_origin(hint) in (UnionType, Union) and len(kinds) == 1 else hint


def count_native_calls(native: NativeDispatcher, metrics: Metrics) -> None:
    """Add the calls that the crate responded to since the last time."""
    for name, count in native.hits().items():
        metrics.of_method(name).cache_hits = count
    for name, (buckets, seconds, errors) in native.take_latencies().items():
        metrics.of_method(name).add(buckets, seconds, errors)
