"""What the crate responds to without Python: cached results, getters, plain reads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from entresol._native import FeeHistory, NativeDispatcher, StateReads
from entresol.rpc.jsonrpc.method import Method, ServedBy
from entresol.rpc.jsonrpc.metrics import BUCKETS, Metrics

RESPONSE_CACHE_BYTES: Final = 16 << 20
"""The size of the cache of results that do not change."""

_NEVER_FORWARDED: Final = (ServedBy.REPLICA, ServedBy.BLOCK)
"""Who serves what a replica never forwards, unless a request names the pending block, which is never plain."""


class NativeReads(NamedTuple):
    """What the crate reads by itself for plain requests."""

    state: StateReads
    fees: FeeHistory


def native_dispatcher(
    methods: Collection[Method], batch: int, reads: NativeReads | None, *, is_replica: bool
) -> NativeDispatcher:
    """Return the crate's dispatcher for `methods`, which caches batches of at most `batch` calls."""
    own = [it for it in methods if not is_replica or it.served_by in _NEVER_FORWARDED]
    return NativeDispatcher(
        capacity=RESPONSE_CACHE_BYTES,
        batch=batch,
        bounds=BUCKETS,
        getters={method.name: method.function for method in own if method.is_getter},
        reads=None if reads is None else reads.state,
        fee_history=None if reads is None else reads.fees,
        read_methods=[method.name for method in own],
    )


def count_native_calls(native: NativeDispatcher, metrics: Metrics) -> None:
    """Add the calls that the crate responded to since the last time."""
    for name, count in native.hits().items():
        metrics.of_method(name).cache_hits = count
    for name, (buckets, seconds) in native.take_latencies().items():
        metrics.of_method(name).add(buckets, seconds)
