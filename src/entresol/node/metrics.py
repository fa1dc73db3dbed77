"""Figures of a running node for whoever collects them: how far it is, and what keeps it from going on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol.chain.chain import Chain
    from entresol.server.state import Counters


class Sample(NamedTuple):
    """One number under its name in Prometheus, which begins with `entresol_`."""

    name: str
    description: str
    value: int
    kind: Literal["gauge", "counter"] = "gauge"
    labels: str = ""
    """Names and values, as `part="deposits"`; figures of one name follow each other."""


def of_chain(chain: Chain) -> Iterator[Sample]:
    """Yield the figures of a chain."""
    final = chain.finality
    yield Sample("head_block", "Number of the last block.", chain.number)
    yield Sample("head_timestamp_seconds", "Timestamp of the last block.", chain.head.timestamp)
    yield Sample("safe_block", "Number of the last safe block.", final.safe)
    yield Sample("finalized_block", "Number of the last final block.", final.finalized)
    yield Sample("pool_transactions", "Transactions that wait for a block.", len(chain.pool))
    waiting = len(chain.producer.priority)
    yield Sample("pool_priority_transactions", "Deposits that wait for a block.", waiting)


def of_server(counters: Counters) -> Iterator[Sample]:
    """Yield the figures of a server."""
    it = counters
    yield Sample("connections_open", "Connections that are open.", it.connections_open)
    yield Sample("websockets_open", "WebSockets that are open.", it.websockets_open)
    for name, description, value in (
        ("connections_total", "Connections that were opened.", it.connections_total),
        ("connections_refused_total", "Connections that were rejected.", it.connections_rejected),
        ("requests_total", "Requests that came in.", it.requests_total),
        ("received_bytes_total", "Bytes that came in.", it.bytes_received),
        ("sent_bytes_total", "Bytes that went out.", it.bytes_sent),
    ):
        yield Sample(name, description, value, "counter")


def render(figures: Iterable[Sample]) -> str:
    """Return figures in the text format of Prometheus."""
    lines, before = [], ""
    for it in figures:
        if it.name != before:
            lines.append(f"# HELP entresol_{it.name} {it.description}")
            lines.append(f"# TYPE entresol_{it.name} {it.kind}")
            before = it.name
        labels = f"{{{it.labels}}}" if it.labels else ""
        lines.append(f"entresol_{it.name}{labels} {it.value:d}")
    return "".join(line + "\n" for line in lines)
