"""Metrics of chains and servers, in the text format of Prometheus."""

from __future__ import annotations

import gc
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.chain.finality import BlockTag
from entresol.server.limits import COLLECT_BYTES, RequestBytes, UnsentBytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from entresol.chain.chain import Chain
    from entresol.server.server_state import Counters

CHAIN_LABEL: Final = "chain"
"""The label that tells the samples of several chains apart."""
_METRIC_NAME: Final = re.compile(r"\w+")


class Sample(NamedTuple):
    """One value of a metric; the name gets the prefix `entresol_`."""

    name: str
    description: str
    value: float
    labels: str = ""
    """Names and values, as `part="deposits"`; samples of one metric follow each other."""

    @property
    def kind(self) -> str:
        """The type for Prometheus."""
        return "counter" if self.name.endswith("_total") else "gauge"


def chain_samples(chain: Chain) -> Iterator[Sample]:
    """Yield the samples of a chain."""
    safe, finalized = chain.resolve(BlockTag.SAFE), chain.resolve(BlockTag.FINALIZED)
    yield Sample("head_block", "Number of the last block.", chain.number)
    yield Sample("head_timestamp_seconds", "Timestamp of the last block.", chain.head.timestamp)
    yield Sample("safe_block", "Number of the last safe block.", safe)
    yield Sample("finalized_block", "Number of the last finalized block.", finalized)
    yield Sample("pool_transactions", "Transactions in the pool.", len(chain.pool))
    pending = len(chain.filler.priority)
    yield Sample("pool_priority_transactions", "Pending priority transactions.", pending)
    roots = len(chain.filler.roots)
    yield Sample("pool_interop_roots", "Roots of L1 that no block has imported yet.", roots)
    alarms = chain.batches.derivation.alarm_count
    if alarms is not None:
        description = "Derivations of this chain from L1 that ended with an alarm."
        yield Sample("derivation_alarms_total", description, alarms)


class MemoryUse(NamedTuple):
    """The rough memory use of a part of a node that grows with its clients, and what it may take."""

    part: str
    used: int
    limit: int


def memory_samples(uses: Iterable[MemoryUse]) -> Iterator[Sample]:
    """Yield what each part takes, and its limit."""
    uses = list(uses)
    for name, description, values in (
        ("memory_bytes", "Memory that a part takes.", [use.used for use in uses]),
        ("memory_limit_bytes", "Memory that a part may take.", [use.limit for use in uses]),
    ):
        for use, value in zip(uses, values, strict=True):
            yield Sample(name, description, value, labels=f'part="{use.part}"')


def request_memory(requests: RequestBytes) -> Iterator[MemoryUse]:
    """Yield the memory of long requests of a server, and the most that they may have left to the garbage collector."""
    yield MemoryUse("requests", requests.used, requests.limit)
    yield MemoryUse("uncollected_requests", requests.uncollected, COLLECT_BYTES)


def garbage_samples() -> Iterator[Sample]:
    """Yield what the garbage collector of this process has done."""
    collected = sum(generation["collected"] for generation in gc.get_stats())
    description = "Objects that only the garbage collector could free."
    yield Sample("garbage_objects_total", description, collected)


def server_samples(
    counters: Counters, unsent: UnsentBytes, requests: RequestBytes
) -> Iterator[Sample]:
    """Yield the samples of a server."""
    it = counters
    yield Sample("connections_open", "Open connections.", it.connections_open)
    yield Sample("websockets_open", "Open WebSockets.", it.websockets_open)
    yield Sample("unsent_bytes", "Bytes written and not sent, at the last check.", unsent.total)
    for name, description, value in (
        ("connections_total", "Connections accepted.", it.connections_total),
        ("connections_refused_total", "Connections rejected.", it.connections_rejected),
        ("connections_dropped_total", "Connections closed for unsent bytes.", unsent.dropped),
        ("long_requests_rejected_total", "Long requests rejected.", requests.rejected),
        ("requests_total", "Requests received.", it.requests_total),
        ("received_bytes_total", "Bytes received.", it.bytes_received),
        ("sent_bytes_total", "Bytes sent.", it.bytes_sent),
    ):
        yield Sample(name, description, value)


def problem_samples(problems: Mapping[str, str | None]) -> Iterator[Sample]:
    """Yield which of several chains have a problem."""
    for name, problem in problems.items():
        yield Sample(
            "chain_problem",
            "Whether anything of a chain fails.",
            problem is not None,
            labels=f'{CHAIN_LABEL}="{name}"',
        )


def labelled(text: str, chain: str) -> str:
    """Return rendered samples with the label of a chain, except those that have one already."""
    if not chain:
        return text
    label = f'{CHAIN_LABEL}="{chain}"'
    lines = (line if line.startswith("#") else _with(label, line) for line in text.splitlines())
    return "".join(line + "\n" for line in lines)


def _with(label: str, sample: str) -> str:
    name = _METRIC_NAME.match(sample)
    assert name is not None
    rest = sample[name.end() :]
    if rest.startswith(f"{{{CHAIN_LABEL}="):
        return sample
    return (
        f"{name[0]}{{{label},{rest[1:]}" if rest.startswith("{") else f"{name[0]}{{{label}}}{rest}"
    )


def render(samples: Iterable[Sample]) -> str:
    """Return samples in the text format of Prometheus."""
    lines, before = [], ""
    for sample in samples:
        if sample.name != before:
            lines.append(f"# HELP entresol_{sample.name} {sample.description}")
            lines.append(f"# TYPE entresol_{sample.name} {sample.kind}")
            before = sample.name
        labels = f"{{{sample.labels}}}" if sample.labels else ""
        value = f"{sample.value:d}" if isinstance(sample.value, int) else f"{sample.value:.3f}"
        lines.append(f"entresol_{sample.name}{labels} {value}")
    return "".join(line + "\n" for line in lines)
