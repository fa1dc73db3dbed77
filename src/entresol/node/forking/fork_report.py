"""What `/health`, `/metrics` and the explorer say of the forks of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from entresol.node.metrics import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.fork.remote_chain import RemoteChain

_COUNTS: Final[
    tuple[tuple[str, str, Callable[[RemoteChain], float], Literal["gauge", "counter"]], ...]
] = (
    (
        "fork_requests_total",
        "HTTP requests to a fork's remote.",
        lambda it: it.use.requests,
        "counter",
    ),
    (
        "fork_cache_hits_total",
        "Values and responses that a fork's cache had.",
        lambda it: it.use.cached,
        "counter",
    ),
    (
        "fork_misses_total",
        "Values and responses that a fork's cache did not have.",
        lambda it: it.use.missed,
        "counter",
    ),
    (
        "fork_waited_seconds_total",
        "How long requests waited for a fork's remote, together.",
        lambda it: it.use.waited_seconds,
        "counter",
    ),
    (
        "fork_waiting_requests",
        "Requests that wait for a fork's remote.",
        lambda it: it.waiting.requests,
        "gauge",
    ),
    (
        "fork_waiting_seconds",
        "How long the oldest of them waits.",
        lambda it: it.waiting.seconds,
        "gauge",
    ),
    (
        "fork_waiting_executions",
        "Executions that wait for values of a fork's remote.",
        lambda it: it.waiting_executions,
        "gauge",
    ),
    (
        "fork_unreachable_seconds",
        "How long a fork's remote has not responded; 0 if it does.",
        lambda it: it.use.unreachable_seconds,
        "gauge",
    ),
)


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
    for name, description, value, kind in _COUNTS:
        yield Sample(name, description, value(remote), kind)
    use = remote.use
    for name, description, label, counts in (
        (
            "fork_retries_total",
            "Requests that a fork's remote did not respond to, or limited.",
            "reason",
            use.retries,
        ),
        (
            "fork_errors_total",
            "What could not be had of a fork's remote, by the kind of error.",
            "kind",
            use.errors,
        ),
    ):
        for it, count in sorted(counts.items()):
            yield Sample(name, description, count, "counter", f'{label}="{it}"')


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
