"""The report of `/health`, `/metrics` and the explorer on the forks of a node."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from entresol.node.metrics import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.features.fork.remote_chain import RemoteChain

_COUNTS: Final = {
    "requests_total": ("HTTP requests to a fork's remote.", "use.requests"),
    "cache_hits_total": ("Values and responses that a fork's cache had.", "use.cached"),
    "misses_total": ("Values and responses that a fork's cache did not have.", "use.missed"),
    "waited_seconds_total": (
        "How long requests waited for a fork's remote, together.",
        "use.waited_seconds",
    ),
    "waiting_requests": ("Requests that wait for a fork's remote.", "waiting.requests"),
    "waiting_seconds": ("How long the oldest of them waits.", "waiting.seconds"),
    "waiting_executions": (
        "Executions that wait for values of a fork's remote.",
        "waiting_executions",
    ),
    "unreachable_seconds": (
        "How long a fork's remote has not responded; 0 if it does.",
        "use.unreachable_seconds",
    ),
}


def fork_health(remote: RemoteChain) -> dict[str, Any]:
    """Return what `/health` says of a fork: its anchor, and whether the remote is there."""
    anchor, waits, use = remote.anchor, remote.waiting, remote.use
    return {
        "remote": remote.host,
        "chainId": anchor.chain_id,
        "blockNumber": anchor.number,
        "blockHash": str(anchor.hash),
        "reachable": use.is_reachable,
        "unreachableSeconds": round(use.unreachable_seconds, 3),
        "waiting": waits.requests,
        "waitingSeconds": round(waits.seconds, 3),
    }


def fork_samples(remote: RemoteChain) -> Iterator[Sample]:
    """Yield the metrics of a fork."""
    for name, (description, path) in _COUNTS.items():
        yield Sample(f"fork_{name}", description, attrgetter(path)(remote))
    retries = "Requests that a fork's remote did not respond to, or limited."
    for reason, count in sorted(remote.use.retries.items()):
        yield Sample("fork_retries_total", retries, count, f'reason="{reason}"')
    errors = "What could not be had of a fork's remote, by the kind of error."
    for kind, count in sorted(remote.use.errors.items()):
        yield Sample("fork_errors_total", errors, count, f'kind="{kind}"')


def fork_page(remote: RemoteChain) -> dict[str, Any]:
    """Return what the explorer shows of a fork. No URL is in it: the remote is known to the node only."""
    anchor, use = remote.anchor, remote.use
    return {
        "chainId": anchor.chain_id,
        "blockNumber": anchor.number,
        "blockHash": str(anchor.hash),
        "timestamp": anchor.header.timestamp,
        "isOffline": remote.is_offline,
        "isReachable": use.is_reachable,
        "unreachableSeconds": round(use.unreachable_seconds, 3),
        "waiting": remote.waiting.requests,
        "waitingSeconds": round(remote.waiting.seconds, 3),
        "cached": use.cached,
        "missed": use.missed,
        "kept": use.kept,
        "keptBytes": use.kept_bytes,
        "reads": [
            {
                "what": last_read.what,
                "which": last_read.which,
                "size": last_read.size,
                "at": last_read.at,
                "kept": last_read.is_kept,
            }
            for last_read in remote.last_reads
        ],
    }
